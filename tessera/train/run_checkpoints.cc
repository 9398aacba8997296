#include "tessera/train/run_checkpoints.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/base/json.h"
#include "tessera/base/log.h"
#include "tessera/train/run_lock.h"
#include "tessera/train/state_checkpoint.h"

namespace tessera {
namespace {

std::string rules_json(const AxisRules& rules) {
  Json json = Json::array();
  for (const AxisRule& rule : rules.rules()) json.push_back({rule.name, rule.axes});
  return json.dump();
}

std::string mesh_json(const Mesh& mesh) {
  Json json = Json::object();
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size > 1) json[axis.name] = axis.size;
  }
  return json.dump();
}

}  // namespace

RetentionPolicy retention_policy(const CheckpointConfig& config) {
  return {.keep_last = config.keep.value_or(0),
          .keep_every_steps = config.keep_every_steps,
          .keep_best = config.keep_best,
          .best_metric = config.best_metric};
}

// A path may hold bytes that are not UTF-8, which JSON has no way to say.
std::string config_json(RunConfig config) {
  return ConfigFields(config).to_json().dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunCheckpoints::RunCheckpoints(const Session& session, FileSystem& files, const Clock& clock,
                               SaveGroup* group)
    : session_(session),
      clock_(clock),
      manager_(files, session.checkpoint_directory(), retention_policy(session.config.checkpoint)),
      saver_(manager_, clock, {.group = group, .refuse_not_finite = true}),
      pool_([&client = session.runtime->client()](std::span<std::byte> block) {
        return client.pin(block).value_or(nullptr);  // slower without, and no less right
      }),
      durable_{.manager = &manager_, .saver = &saver_} {}

void RunCheckpoints::add(LocalTier& tier) {
  local_tier_ = &tier;
  local_ = {.manager = &tier.manager(), .saver = &tier.saver()};
}

void RunCheckpoints::resumed(int64_t step, const std::string& folder) {
  const bool is_durable = folder == checkpoint_folder(manager_.directory(), step);
  Tier& tier = is_durable ? durable_ : local_;
  tier.good_step = tier.requested_step = step;
  good_folder_ = folder;
}

void RunCheckpoints::describe(Manifest& manifest) const {
  const RunConfig& config = session_.config;
  manifest.saved_unix_s = absl::ToUnixSeconds(clock_.now());
  manifest.program_json = Json{{"tessera", TESSERA_VERSION},
                               {"platform", session_.runtime->client().platform_name()},
                               {"platform_version", session_.runtime->client().platform_version()}}
                              .dump();
  manifest.mesh_json = mesh_json(session_.layout.mesh);
  manifest.rules_json = rules_json(session_.layout.rules);
  // Keys of steps follow from the seed and the step's number; nothing else is random.
  manifest.rng_json = Json{{"seed", config.training.seed}, {"step", manifest.step}}.dump();
  manifest.config_json = config_json(config);
}

bool RunCheckpoints::takes(Tier& tier, const Request& request, MetricsLogger& metrics) {
  if (tier.saver == nullptr || tier.requested_step == request.step) return false;
  if (request.may_skip && !tier.saver->idle()) {
    log_warning("step ", request.step, " is not saved to ", tier.manager->directory(),
                ": the checkpoint before is still being written");
    return false;
  }
  finish(tier, metrics);
  return true;
}

Status RunCheckpoints::save(Request request, MetricsLogger& metrics) {
  RETURN_IF_ERROR(wait_until_ready(*request.state));
  const absl::Duration ready = clock_.elapsed();
  std::vector<Tier*> tiers;
  if (request.local && takes(local_, request, metrics)) tiers.push_back(&local_);
  if (request.durable && takes(durable_, request, metrics)) tiers.push_back(&durable_);
  if (tiers.empty()) return absl::OkStatus();
  ready_s_ = absl::ToDoubleSeconds(ready - request.asked);
  const CheckpointConfig& config = session_.config.checkpoint;
  const absl::Duration start = clock_.elapsed();
  if (!shares_) shares_.emplace(*request.state);  // the layout of a run's state does not change
  ASSIGN_OR_RETURN(SaveRequest copy,
                   copy_to_host(request.step, *request.state, *shares_, pool_,
                                {.chunk_bytes = config.chunk_bytes,
                                 .zstd_level = static_cast<int>(config.zstd_level)}));
  copy.copy_s = absl::ToDoubleSeconds(clock_.elapsed() - start);
  copy.manifest = std::move(request.manifest);
  copy.manifest.step = request.step;
  describe(copy.manifest);
  for (Tier* tier : tiers) {
    tier->saver->save(tier == tiers.back() ? std::move(copy) : copy);
    tier->requested_step = request.step;
    tier->saving = true;
    tier->stall_s = absl::ToDoubleSeconds(clock_.elapsed() - ready);
  }
  return absl::OkStatus();
}

void RunCheckpoints::report(MetricsLogger& metrics) {
  for (Tier* tier : {&durable_, &local_}) {
    if (tier->saving && tier->saver->idle()) finish(*tier, metrics);
  }
}

void RunCheckpoints::finish(MetricsLogger& metrics) {
  for (Tier* tier : {&durable_, &local_}) {
    if (tier->saver != nullptr) finish(*tier, metrics);
  }
}

void RunCheckpoints::finish(Tier& tier, MetricsLogger& metrics) {
  const std::optional<SaveResult> last = tier.saver->wait();
  if (tier.saving && last) note(tier, *last, metrics);
}

void RunCheckpoints::note(Tier& tier, const SaveResult& result, MetricsLogger& metrics) {
  tier.saving = false;
  const bool is_local = &tier == &local_;
  Status status = result.status;
  if (status.ok() && is_local) status = local_tier_->remove_stale();
  if (!status.ok()) {
    log_error("saving step ", result.step, " to ", tier.manager->directory(),
              " failed: ", from_absl(status.message()));
    failure_.Update(status);
    return;
  }
  const auto milliseconds = [](double seconds) {
    return absl::StrFormat("%.0f ms", seconds * 1e3);
  };
  const std::string folder = checkpoint_folder(tier.manager->directory(), result.step);
  const std::string line = str_cat(
      "saved checkpoint ", folder, " (", bytes_text(static_cast<double>(result.bytes)),
      ": training stalled ", milliseconds(tier.stall_s), ", copy ", milliseconds(result.copy_s),
      ", write ", milliseconds(result.write_s), ", commit ", milliseconds(result.commit_s), ")");
  // Local ones are many.
  if (is_local) {
    log_debug(line);
  } else {
    log_info(line);
  }
  metrics.save({.step = result.step,
                .is_local = is_local,
                .bytes = result.bytes,
                .ready_seconds = ready_s_,
                .stall_seconds = tier.stall_s,
                .copy_seconds = result.copy_s,
                .write_seconds = result.write_s,
                .commit_seconds = result.commit_s});
  if (result.step >= std::max(durable_.good_step, local_.good_step)) good_folder_ = folder;
  tier.good_step = std::max(tier.good_step, result.step);
  if (!is_local) warn_if_folder_is_gone();
}

// Checkpoints are written by their path and so come back; the files that are open do not.
void RunCheckpoints::warn_if_folder_is_gone() {
  const std::string& folder = session_.config.output_directory;
  if (warned_of_folder_ || RunLock::is_in(folder)) return;
  warned_of_folder_ = true;
  log_warning(folder,
              " was removed while this run goes on: it holds new checkpoints, but no metrics until "
              "the run is stopped and begun again");
}

}  // namespace tessera
