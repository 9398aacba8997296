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
  if (!result.status.ok() || !commits()) return result;
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
    ASSIGN_OR_RETURN(
        writer, manager_.begin(request.step, request.arrays,
                               {.leads = commits(), .pool = &writers_, .share = share_here()}));
    return absl::OkStatus();
  };
  // The others write into folders that are there by then.
  RETURN_IF_ERROR(agree("beginning a checkpoint", commits() ? begin() : absl::OkStatus()));
  Status written = commits() ? absl::OkStatus() : begin();
  if (written.ok()) written = write_shards(request, *writer);
  if (written.ok() && options_.before_commit) written = options_.before_commit(*writer);
  RETURN_IF_ERROR(agree("writing a checkpoint", written));
  const absl::Duration end = clock_.elapsed();
  result->write_s = absl::ToDoubleSeconds(end - start);
  Manifest manifest = request.manifest;
  Status committed = collect(*writer, &manifest);
  if (committed.ok() && commits()) committed = writer->commit(std::move(manifest));
  RETURN_IF_ERROR(agree("committing a checkpoint", committed));
  result->bytes = writer->bytes();  // of the process that leads, which knows every chunk's size
  result->commit_s = absl::ToDoubleSeconds(clock_.elapsed() - end);
  return absl::OkStatus();
}

// Shards are about evenly spread; of a small state some are not.
double CheckpointSaver::share_here() const {
  if (!options_.spread || options_.group == nullptr) return 1;
  const int copies = options_.second_copy ? 2 : 1;
  return 1.2 * copies / options_.group->processes();
}

Status CheckpointSaver::write_shards(const SaveRequest& request, CheckpointWriter& writer) {
  std::unique_ptr<CheckpointWriter> second;
  if (options_.second_copy) {
    ASSIGN_OR_RETURN(
        second,
        CheckpointWriter::begin(*options_.second_copy->files, options_.second_copy->directory,
                                request.step, request.arrays, {.leads = false, .pool = &writers_}));
  }
  std::map<std::string_view, DType> dtypes;
  for (const ArraySpec& spec : request.arrays) dtypes.emplace(spec.name, spec.shape.dtype);
  return try_parallel_for(&writers_, request.shards.size(), [&](size_t i) -> Status {
    const HostShard& shard = request.shards[i];
    if (const auto dtype = dtypes.find(shard.array);
        options_.refuse_not_finite && dtype != dtypes.end()) {
      RETURN_IF_ERROR(check_finite(shard, dtype->second, request.step));
    }
    RETURN_IF_ERROR(writer.write_shard(shard.array, shard.box, shard.bytes));
    return second ? second->write_shard(shard.array, shard.box, shard.bytes) : absl::OkStatus();
  });
}

Status CheckpointSaver::collect(CheckpointWriter& writer, Manifest* manifest) {
  if (options_.group == nullptr) return absl::OkStatus();
  if (options_.spread) return collect_everywhere(writer, manifest);
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   options_.group->gather(leads_group() ? "" : to_text(writer.written())));
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<WrittenChunk> chunks, written_from_text(text));
    RETURN_IF_ERROR(writer.adopt(chunks));
  }
  return absl::OkStatus();
}

// All commit the manifest of the one that leads, so that the parts can be told to belong together.
Status CheckpointSaver::collect_everywhere(CheckpointWriter& writer, Manifest* manifest) {
  std::string first;
  if (leads_group()) {
    ASSIGN_OR_RETURN(first, manifest_to_text(*manifest));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> manifests,
                   options_.group->gather_everywhere(first));
  ASSIGN_OR_RETURN(*manifest, manifest_from_text(manifests.at(0), "the manifest that was sent"));
  ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                   options_.group->gather_everywhere(to_text(writer.written())));
  for (size_t process = 0; process < texts.size(); ++process) {
    if (static_cast<int>(process) == options_.group->process()) continue;
    ASSIGN_OR_RETURN(const std::vector<WrittenChunk> chunks, written_from_text(texts[process]));
    RETURN_IF_ERROR(writer.adopt(chunks));
  }
  return absl::OkStatus();
}

}  // namespace tessera
