#include "tessera/data/batch_loader.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

Status at_least(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return {};
  return invalid_argument("data loader: ", name, " is ", value, ", must be at least ", least);
}

Status validate(const BatchLoaderOptions& options) {
  RETURN_IF_ERROR(at_least("batch size", options.batch_size, 1));
  RETURN_IF_ERROR(at_least("epochs", options.epochs, 0));
  RETURN_IF_ERROR(at_least("workers", options.workers, 0));
  RETURN_IF_ERROR(at_least("prefetch", options.prefetch, 1));
  for (size_t i = 0; i < options.rows.size(); ++i) {
    if (options.rows[i] < 0 || options.rows[i] >= options.batch_size) {
      return invalid_argument("data loader: row ", options.rows[i], " is not within a batch of ",
                              options.batch_size);
    }
    if (i > 0 && options.rows[i] <= options.rows[i - 1])
      return invalid_argument("data loader: rows are not ascending at ", options.rows[i]);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(
    std::shared_ptr<const ExampleSource> examples, const BatchLoaderOptions& options) {
  return create({{.name = "", .examples = std::move(examples), .epochs = options.epochs}}, options);
}

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(std::vector<SampleSource> sources,
                                                         const BatchLoaderOptions& options) {
  BatchLoaderOptions resolved = options;
  RETURN_IF_ERROR(validate(resolved));
  if (resolved.rows.empty()) {
    resolved.rows.resize(static_cast<size_t>(resolved.batch_size));
    std::iota(resolved.rows.begin(), resolved.rows.end(), 0);
  }
  ASSIGN_OR_RETURN(auto sequence,
                   SampleSequence::create(std::move(sources), options.seed, options.shuffle));
  RETURN_IF_ERROR(sequence->check_batch(options.batch_size));
  return std::unique_ptr<BatchLoader>(new BatchLoader(std::move(sequence), resolved));
}

Result<Batch> BatchLoader::batch_at(int64_t position) const {
  const int64_t end = sequence_->end();
  if (end >= 0 && position >= end)
    return absl::OutOfRangeError(str_cat("the data ends: ", sequence_->end_text()));
  Batch batch;
  batch.position = position;
  batch.row_numbers = options_.rows;
  batch.rows = std::ssize(options_.rows);
  batch.length = any_source().length();
  resize_arrays(&batch);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t at = position + options_.rows[static_cast<size_t>(row)];
    if (end >= 0 && at >= end) {
      batch.example_ids[row] = -1;
      fill_with_padding(row_spans(&batch, row), any_source().pad_token());
      continue;
    }
    const SampleSequence::Place place = sequence_->at(at);
    const SampleSource& source = sequence_->sources()[static_cast<size_t>(place.source)];
    batch.example_ids[row] = place.sample.example;
    batch.sources[row] = place.source;
    RETURN_IF_ERROR(source.examples->read(place.sample.example, row_spans(&batch, row)));
  }
  return batch;
}

void BatchLoader::start_workers() {
  const auto take = [position = position_, step = options_.batch_size]() mutable {
    return std::exchange(position, position + step);
  };
  using Workers = OrderedWorkers<int64_t, Result<Batch>>;
  prefetcher_ = std::make_unique<Workers>(
      Workers::Options{.name = "batches",
                       .workers = options_.workers,
                       .ahead = options_.prefetch,
                       .take = take,
                       .make = [this](int64_t position) { return batch_at(position); }});
}

Result<Batch> BatchLoader::next() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  // Begun late, so that a loader which is first moved to a checkpoint's position makes nothing in
  // vain.
  if (prefetcher_ == nullptr && options_.workers > 0) start_workers();
  Result<Batch> batch = prefetcher_ != nullptr ? prefetcher_->next() : batch_at(position_);
  if (batch.ok()) {
    position_ += options_.batch_size;
    if (sequence_->end() >= 0) position_ = std::min(position_, sequence_->end());
  } else {
    prefetcher_.reset();  // it has moved on, the position has not
  }
  last_wait_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return batch;
}

Status BatchLoader::seek(int64_t position) {
  const int64_t end = sequence_->end();
  if (position < 0 || (end >= 0 && position > end))
    return invalid_argument("data loader: position ", position, " is not in [0, ", end, "]");
  prefetcher_.reset();
  position_ = position;
  return {};
}

int64_t BatchLoader::batches_left() const {
  const int64_t end = sequence_->end();
  if (end < 0) return -1;
  return (end - position_ + options_.batch_size - 1) / options_.batch_size;
}

int64_t BatchLoader::tokens_used() const { return sequence_->tokens_used(position_); }

Json BatchLoader::state() const { return sequence_->state(position_); }

Status BatchLoader::restore(const Json& state) {
  prefetcher_.reset();  // its threads use the sequence
  ASSIGN_OR_RETURN(const int64_t position, sequence_->restore(state));
  return seek(position);
}

}  // namespace tessera
