#include "tessera/ckpt/saver.h"

#include <chrono>
#include <map>
#include <utility>

#include "tessera/ckpt/finite.h"
#include "tessera/ckpt/parallel.h"

namespace tessera {
namespace {

Status check_finite(const HostShard& shard, DType dtype, int64_t step) {
  const std::optional<int64_t> found = first_not_finite(dtype, shard.bytes);
  if (!found) return absl::OkStatus();
  Dims index = grid_index(*found, shard.box.dims);
  for (size_t i = 0; i < index.size(); ++i) index[i] += shard.box.start[i];
  return absl::AbortedError(
      str_cat("step ", step, " is not saved: element ", dims_to_string(index), " of ", shard.array,
              " is infinite or not a number; the checkpoints saved before are untouched"));
}

}  // namespace

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
  result.copy_s = request.copy_s;
  result.status = write(request, &result);
  if (!result.status.ok() || !leads()) return result;
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

Status CheckpointSaver::agree(const std::string& what, const Status& own) {
  return options_.group == nullptr ? own : options_.group->agree(what, own);
}

Status CheckpointSaver::write(const SaveRequest& request, SaveResult* result) {
  const absl::Duration start = clock_.elapsed();
  std::unique_ptr<CheckpointWriter> writer;
  const auto begin = [&]() -> Status {
    ASSIGN_OR_RETURN(writer, manager_.begin(request.step, request.arrays,
                                            {.leads = leads(), .pool = &writers_}));
    return absl::OkStatus();
  };
  // The others begin in the folder that the first one made.
  RETURN_IF_ERROR(agree("beginning a checkpoint", leads() ? begin() : absl::OkStatus()));
  Status written = leads() ? absl::OkStatus() : begin();
  if (written.ok()) written = write_shards(request, *writer);
  if (written.ok() && options_.before_commit) written = options_.before_commit(*writer);
  RETURN_IF_ERROR(agree("writing a checkpoint", written));
  const absl::Duration end = clock_.elapsed();
  result->write_s = absl::ToDoubleSeconds(end - start);
  Status committed = collect(*writer);
  if (committed.ok() && leads()) committed = writer->commit(request.manifest);
  RETURN_IF_ERROR(agree("committing a checkpoint", committed));
  result->bytes = writer->bytes();  // of the process that leads, which knows every chunk's size
  result->commit_s = absl::ToDoubleSeconds(clock_.elapsed() - end);
  return absl::OkStatus();
}

Status CheckpointSaver::write_shards(const SaveRequest& request, CheckpointWriter& writer) {
  std::map<std::string_view, DType> dtypes;
  for (const ArraySpec& spec : request.arrays) dtypes.emplace(spec.name, spec.shape.dtype);
  return try_parallel_for(&writers_, request.shards.size(), [&](size_t i) -> Status {
    const HostShard& shard = request.shards[i];
    if (const auto dtype = dtypes.find(shard.array);
        options_.refuse_not_finite && dtype != dtypes.end()) {
      RETURN_IF_ERROR(check_finite(shard, dtype->second, request.step));
    }
    return writer.write_shard(shard.array, shard.box, shard.bytes);
  });
}

Status CheckpointSaver::collect(CheckpointWriter& writer) {
  if (options_.group == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   options_.group->gather(leads() ? "" : to_text(writer.written())));
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<WrittenChunk> chunks, written_from_text(text));
    RETURN_IF_ERROR(writer.adopt(chunks));
  }
  return absl::OkStatus();
}

}  // namespace tessera
