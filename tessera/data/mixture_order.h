#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// Which source each example of a mixture comes from. The sequence is cut into blocks of
/// kMixtureBlock positions; in each block every source has the same number of places, in the
/// proportion of the weights, and the places are shuffled anew, or spread evenly without `shuffle`.
/// A pure function of weights, seed and position. Stateless to the caller: any thread may call
/// anything.
inline constexpr int64_t kMixtureBlock = 4096;

class MixtureOrder {
 public:
  /// INVALID_ARGUMENT for a weight that is not above 0, or less than a place a block; it has the
  /// source's name, without `names` its number.
  static Result<std::unique_ptr<MixtureOrder>> create(std::span<const double> weights,
                                                      uint64_t seed, bool shuffle,
                                                      std::span<const std::string> names = {});

  struct Place {
    int32_t source = 0;
    int64_t index = 0;  ///< How often this source was used before: its own position.
  };
  /// `position` counts from the mixture's beginning.
  Place at(int64_t position) const;
  /// How often a source is used before `position`.
  int64_t used(int32_t source, int64_t position) const;
  /// The position at which a source is used for the time `index`, counted from 0: at()'s inverse.
  int64_t position_of(int32_t source, int64_t index) const;
  /// Places of each source in a block; together kMixtureBlock.
  std::span<const int64_t> places() const { return places_; }

 private:
  struct Block {
    int64_t number = -1;
    std::vector<int32_t> sources;  // by place
    std::vector<int32_t> ranks;    // by place: among those of its source
  };

  MixtureOrder(std::vector<int64_t> places, uint64_t seed, bool shuffle);
  std::shared_ptr<const Block> block(int64_t number) const;
  std::shared_ptr<const Block> make_block(int64_t number) const;

  const std::vector<int64_t> places_;
  const uint64_t seed_;
  const bool shuffle_;
  std::vector<int32_t> even_;  // the sources of a block, spread evenly
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Block> last_;  // guarded by mutex_
};

}  // namespace tessera
