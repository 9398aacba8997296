#include "tessera/data/batch_loader.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

constexpr int kStateVersion = 1;

Status at_least(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return {};
  return invalid_argument("data loader: ", name, " is ", value, ", must be at least ", least);
}

Status validate(const BatchLoaderOptions& options, const ExampleSource& examples) {
  RETURN_IF_ERROR(at_least("batch size", options.batch_size, 1));
  RETURN_IF_ERROR(at_least("epochs", options.epochs, 0));
  RETURN_IF_ERROR(at_least("workers", options.workers, 0));
  RETURN_IF_ERROR(at_least("prefetch", options.prefetch, 1));
  RETURN_IF_ERROR(at_least("examples", examples.size(), 1));
  for (size_t i = 0; i < options.rows.size(); ++i) {
    if (options.rows[i] < 0 || options.rows[i] >= options.batch_size) {
      return invalid_argument("data loader: row ", options.rows[i], " is not within a batch of ",
                              options.batch_size);
    }
    if (i > 0 && options.rows[i] <= options.rows[i - 1])
      return invalid_argument("data loader: rows are not ascending at ", options.rows[i]);
  }
  if (options.epochs == 0 && examples.size() < options.batch_size) {
    return invalid_argument("too little data: ", examples.size(), " examples of ",
                            examples.length(), " tokens do not fill a batch of ",
                            options.batch_size,
                            "; use a smaller batch, shorter sequences or more text");
  }
  return {};
}

template <typename T>
Status same(const Json& state, const char* key, const T& ours) {
  if (state.at(key).get<T>() == ours) return {};
  return failed_precondition("data loader: the checkpoint was written with ", key, " = ",
                             state.at(key).dump(), ", this run has ", Json(ours).dump(),
                             ": the order of examples would differ");
}

}  // namespace

Result<std::unique_ptr<BatchLoader>> BatchLoader::create(
    std::shared_ptr<const ExampleSource> examples, const BatchLoaderOptions& options) {
  BatchLoaderOptions resolved = options;
  RETURN_IF_ERROR(validate(resolved, *examples));
  if (resolved.rows.empty()) {
    resolved.rows.resize(static_cast<size_t>(resolved.batch_size));
    std::iota(resolved.rows.begin(), resolved.rows.end(), 0);
  }
  return std::unique_ptr<BatchLoader>(new BatchLoader(std::move(examples), resolved));
}

BatchLoader::BatchLoader(std::shared_ptr<const ExampleSource> examples,
                         const BatchLoaderOptions& options)
    : examples_(std::move(examples)),
      options_(options),
      order_(examples_->size(), options.seed, options.shuffle) {}

Result<Batch> BatchLoader::batch_at(int64_t position) const {
  if (!endless() && position >= end_position()) {
    return absl::OutOfRangeError(str_cat("the data ends: all ", options_.epochs, " epochs of ",
                                         order_.examples(), " examples are used"));
  }
  Batch batch;
  batch.position = position;
  batch.row_numbers = options_.rows;
  batch.rows = std::ssize(options_.rows);
  batch.length = examples_->length();
  resize_arrays(&batch);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t at = position + options_.rows[static_cast<size_t>(row)];
    if (!endless() && at >= end_position()) {
      batch.example_ids[row] = -1;
      fill_with_padding(row_spans(&batch, row), examples_->pad_token());
      continue;
    }
    batch.example_ids[row] = order_.at(at).example;
    RETURN_IF_ERROR(examples_->read(batch.example_ids[row], row_spans(&batch, row)));
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
    if (!endless()) position_ = std::min(position_, end_position());
  } else {
    prefetcher_.reset();  // it has moved on, the position has not
  }
  last_wait_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return batch;
}

Status BatchLoader::seek(int64_t position) {
  if (position < 0 || (!endless() && position > end_position())) {
    return invalid_argument("data loader: position ", position, " is not in [0, ", end_position(),
                            "]");
  }
  prefetcher_.reset();
  position_ = position;
  return {};
}

int64_t BatchLoader::batches_left() const {
  if (endless()) return -1;
  return (end_position() - position_ + options_.batch_size - 1) / options_.batch_size;
}

int64_t BatchLoader::tokens_used() const {
  const int64_t last = order_.examples() - 1;  // only the last example may be short
  const int64_t padding = examples_->length() - examples_->tokens_in(last);
  const bool last_is_used = order_.position_of({epoch(), last}) < position_;
  const int64_t short_examples = epoch() + (last_is_used ? 1 : 0);
  return position_ * examples_->length() - short_examples * padding;
}

Json BatchLoader::state() const {
  Json state;
  state["version"] = kStateVersion;
  state["position"] = position_;
  state["epoch"] = epoch();
  state["tokens"] = tokens_used();
  state["seed"] = options_.seed;
  state["shuffle"] = options_.shuffle;
  state["sequence_length"] = examples_->length();
  state["examples_per_epoch"] = order_.examples();
  state["data"] = examples_->fingerprint();
  return state;
}

Status BatchLoader::restore(const Json& state) {
  try {
    RETURN_IF_ERROR(same(state, "version", kStateVersion));
    RETURN_IF_ERROR(same(state, "seed", options_.seed));
    RETURN_IF_ERROR(same(state, "shuffle", options_.shuffle));
    RETURN_IF_ERROR(same(state, "sequence_length", examples_->length()));
    RETURN_IF_ERROR(same(state, "examples_per_epoch", order_.examples()));
    RETURN_IF_ERROR(same(state, "data", examples_->fingerprint()));
    return seek(state.at("position").get<int64_t>());
  } catch (const nlohmann::json::exception& error) {
    return data_loss("data loader: the checkpoint's data state is damaged: ", error.what());
  }
}

}  // namespace tessera
