#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/status.h"
#include "tessera/data/batch.h"
#include "tessera/data/ordered_workers.h"
#include "tessera/data/packed_examples.h"
#include "tessera/data/sample_sequence.h"

namespace tessera {

struct BatchLoaderOptions {
  int64_t batch_size = 8;  // rows of the global batch
  /// Only these rows of each global batch are made and read, ascending; empty: all.
  std::vector<int64_t> rows = {};
  bool shuffle = true;
  uint64_t seed = 0;
  /// How often the examples are gone through; 0: without end. With an end, the last batch is filled
  /// up with rows of padding, so that every example is used.
  int64_t epochs = 0;
  /// Threads that make batches ahead; 0: they are made inside next().
  int workers = 1;
  int64_t prefetch = 4;  // batches made ahead, at most
};

/// Gives the batches of a training run or an evaluation, from any position on. Row r of the batch
/// at position p is the example at p + r of the sample order (sample_order.h); nothing else decides
/// it. So a run may stop and go on with another batch size, other rows or other processes, and each
/// example is still used once an epoch. batch_at() is for any thread, the rest for one at a time.
class BatchLoader {
 public:
  /// INVALID_ARGUMENT for options out of range, and when an endless source has fewer examples than
  /// a batch has rows of it.
  static Result<std::unique_ptr<BatchLoader>> create(std::shared_ptr<const ExampleSource> examples,
                                                     const BatchLoaderOptions& options);
  /// Of a mixture, whose sources have names and epochs of their own; options.epochs is not used.
  static Result<std::unique_ptr<BatchLoader>> create(std::vector<SampleSource> sources,
                                                     const BatchLoaderOptions& options);

  /// The batch at the position, which then moves on by batch_size. OUT_OF_RANGE when the last epoch
  /// of a source has ended.
  Result<Batch> next();
  /// The batch at any position, without changing this one: a pure function.
  Result<Batch> batch_at(int64_t position) const;

  /// Examples used so far, counted from the start of the run; includes no padding rows.
  int64_t position() const { return position_; }
  /// INVALID_ARGUMENT when it is negative or past the end.
  Status seek(int64_t position);
  /// Batches from here to the end of the last epoch; -1: without end.
  int64_t batches_left() const;
  /// How often all examples of all sources were used as often as there are, rounded down.
  int64_t epoch() const { return position_ / sequence_->examples(); }
  /// Input tokens used so far, without padding.
  int64_t tokens_used() const;

  /// What to store in a checkpoint.
  Json state() const;
  /// Goes on where the loader that gave `state` was. FAILED_PRECONDITION when seed, shuffle,
  /// sequence length or data differ from that one's: says which, and both values. Batch size, rows,
  /// workers, epochs and a mixture's weights and sources may differ.
  Status restore(const Json& state);

  /// How long the last next() waited or worked for its batch.
  double last_wait_ms() const { return last_wait_ms_; }

 private:
  BatchLoader(std::unique_ptr<SampleSequence> sequence, const BatchLoaderOptions& options)
      : sequence_(std::move(sequence)), options_(options) {}
  void start_workers();
  const ExampleSource& any_source() const { return *sequence_->sources()[0].examples; }

  const std::unique_ptr<SampleSequence> sequence_;
  const BatchLoaderOptions options_;
  int64_t position_ = 0;
  double last_wait_ms_ = 0;
  std::unique_ptr<OrderedWorkers<int64_t, Result<Batch>>>
      prefetcher_;  // last: its threads use the others
};

}  // namespace tessera
