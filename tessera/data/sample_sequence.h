#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/status.h"
#include "tessera/data/mixture_order.h"
#include "tessera/data/packed_examples.h"
#include "tessera/data/sample_order.h"

namespace tessera {

/// One source of the examples that a run uses.
struct SampleSource {
  std::string name;  ///< empty where it is the only one
  std::shared_ptr<const ExampleSource> examples;
  double weight = 1;   ///< beside the other sources'
  int64_t epochs = 0;  ///< how often its examples are gone through; 0: without end
};

/// Which example is used at each position of a run: of one source, epoch after epoch, or of
/// several by their weights, each of which has a position and epochs of its own. A pure function of
/// sources, seed and position, and of nothing else: not of batch sizes, processes or restarts.
///
/// A run may go on with other weights, with a source more or less: then the new mixture begins
/// where the old one was left, and each source goes on after the last of its examples that was
/// used.
///
/// at() and the other const functions are for any thread.
class SampleSequence {
 public:
  /// INVALID_ARGUMENT where there is no source, no example, or a weight is of no use.
  static Result<std::unique_ptr<SampleSequence>> create(std::vector<SampleSource> sources,
                                                        uint64_t seed, bool shuffle);

  struct Place {
    int32_t source = 0;
    Sample sample;
  };
  Place at(int64_t position) const;
  /// The first position at which a source has ended; -1: none ends.
  int64_t end() const { return end_; }
  /// What has ended there: "all 2 epochs of 29 examples", "… of source web".
  std::string end_text() const;
  /// Input tokens before `position`, without padding.
  int64_t tokens_used(int64_t position) const;

  const std::vector<SampleSource>& sources() const { return sources_; }
  /// Of one epoch of each source, together.
  int64_t examples() const;
  /// INVALID_ARGUMENT when a batch would hold an example twice.
  Status check_batch(int64_t batch_size) const;

  /// What a run needs to go on from `position`.
  Json state(int64_t position) const;
  /// The position to go on from. FAILED_PRECONDITION when seed, shuffle, sequence length or the
  /// data of a source differ from those of the state: says which, and both values.
  Result<int64_t> restore(const Json& state);

 private:
  SampleSequence(std::vector<SampleSource> sources, uint64_t seed, bool shuffle)
      : sources_(std::move(sources)), seed_(seed), shuffle_(shuffle) {}
  /// How often a source is used before `position`, from the beginning of the run.
  int64_t used(size_t source, int64_t position) const;
  void find_end();
  Status check_common(const Json& state) const;
  Result<int64_t> restore_one(const Json& state);
  Result<int64_t> restore_mixture(const Json& state);

  std::vector<SampleSource> sources_;
  const uint64_t seed_;
  const bool shuffle_;
  std::vector<SampleOrder> orders_;        // by source
  std::unique_ptr<MixtureOrder> mixture_;  // null: one source alone
  int64_t origin_ = 0;                     // where the mixture began
  std::vector<int64_t> begins_;            // by source: its own position there
  int64_t end_ = -1;
  size_t first_to_end_ = 0;
};

}  // namespace tessera
