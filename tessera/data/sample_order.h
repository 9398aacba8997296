#pragma once

#include <cstdint>

#include "tessera/data/permutation.h"

namespace tessera {

struct Sample {
  int64_t epoch = 0;
  int64_t example = 0;
};

/// The order in which examples are used: epoch after epoch, each example once in each, shuffled
/// anew every time. A pure function of (examples, seed, position), and of nothing else: not of
/// batch sizes, processes or restarts. Stateless: any thread may call anything.
class SampleOrder {
 public:
  /// Without `shuffle`, each epoch goes through the examples in order.
  SampleOrder(int64_t examples, uint64_t seed, bool shuffle)
      : examples_(examples), seed_(seed), shuffle_(shuffle) {}

  int64_t examples() const { return examples_; }
  /// Which example is used at `position` of the whole sequence (0 is the first of the run).
  Sample at(int64_t position) const;
  /// The inverse: where `sample.example` is used in `sample.epoch`.
  int64_t position_of(const Sample& sample) const;

 private:
  KeyedPermutation permutation(int64_t epoch) const {
    return {static_cast<uint64_t>(examples_), mix64(mix64(seed_) ^ static_cast<uint64_t>(epoch))};
  }

  int64_t examples_;
  uint64_t seed_;
  bool shuffle_;
};

}  // namespace tessera
