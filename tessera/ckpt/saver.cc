#include "tessera/ckpt/saver.h"

#include <atomic>
#include <chrono>
#include <utility>

namespace tessera {

CheckpointSaver::CheckpointSaver(const CheckpointManager& manager, const Clock& clock,
                                 Options options)
    : manager_(manager),
      clock_(clock),
      options_(std::move(options)),
      writers_("ckpt-write", options_.threads, 64) {}

CheckpointSaver::~CheckpointSaver() { (void)wait(); }

std::shared_future<SaveResult> CheckpointSaver::save(SaveRequest request) {
  const absl::Duration start = clock_.elapsed();
  (void)wait();
  const double wait_s = absl::ToDoubleSeconds(clock_.elapsed() - start);
  auto promise = std::make_shared<std::promise<SaveResult>>();
  last_ = promise->get_future().share();
  thread_ = Thread("ckpt-save", [this, promise, wait_s, request = std::move(request)]() mutable {
    SaveResult result = run(request);
    result.wait_s = wait_s;
    request = {};  // gives the shards' memory back before anyone hears of the end
    promise->set_value(std::move(result));
  });
  return last_;
}

bool CheckpointSaver::idle() const {
  return !last_.valid() || last_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::optional<SaveResult> CheckpointSaver::wait() {
  thread_.join();
  if (!last_.valid()) return std::nullopt;
  return last_.get();
}

SaveResult CheckpointSaver::run(const SaveRequest& request) {
  SaveResult result;
  result.step = request.step;
  result.status = write(request, &result);
  if (!result.status.ok() || !options_.writer.leads) return result;
  const absl::Duration start = clock_.elapsed();
  Result<std::vector<int64_t>> pruned = manager_.prune();
  result.prune_s = absl::ToDoubleSeconds(clock_.elapsed() - start);
  if (pruned.ok()) {
    result.pruned = *std::move(pruned);
  } else {
    result.status = annotate(
        pruned.status(),
        str_cat("checkpoint step ", request.step, " is saved, but an older one cannot be removed"));
  }
  return result;
}

Status CheckpointSaver::write(const SaveRequest& request, SaveResult* result) {
  const absl::Duration start = clock_.elapsed();
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointWriter> writer,
                   manager_.begin(request.step, request.arrays, options_.writer));
  result->bytes = writer->bytes();
  RETURN_IF_ERROR(write_shards(*writer, request));
  const absl::Duration written = clock_.elapsed();
  result->write_s = absl::ToDoubleSeconds(written - start);
  if (options_.before_commit) RETURN_IF_ERROR(options_.before_commit(*writer));
  if (!options_.writer.leads) return absl::OkStatus();
  RETURN_IF_ERROR(writer->commit(request.manifest));
  result->commit_s = absl::ToDoubleSeconds(clock_.elapsed() - written);
  return absl::OkStatus();
}

Status CheckpointSaver::write_shards(CheckpointWriter& writer, const SaveRequest& request) {
  std::mutex mutex;
  Status first;  // guarded by mutex
  std::atomic<bool> failed = false;
  parallel_for(writers_, request.shards.size(), [&](size_t i) {
    if (failed) return;  // the checkpoint is lost anyway
    const HostShard& shard = request.shards[i];
    const Status status = writer.write_shard(shard.array, shard.box, shard.bytes);
    if (status.ok() || failed.exchange(true)) return;
    const std::lock_guard lock(mutex);
    first = status;
  });
  return first;
}

}  // namespace tessera
