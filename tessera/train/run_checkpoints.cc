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
  return {.keep_last = static_cast<int>(config.keep.value_or(0)),
          .keep_every_steps = config.keep_every_steps,
          .keep_best = static_cast<int>(config.keep_best),
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
      saver_(manager_, clock, {.group = group, .refuse_not_finite = true}) {}

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

Status RunCheckpoints::save(Request request, MetricsLogger& metrics) {
  if (requested_step_ == request.step) return absl::OkStatus();
  RETURN_IF_ERROR(wait_until_ready(*request.state));
  const absl::Duration ready = clock_.elapsed();
  if (request.may_skip && !saver_.idle()) {
    log_warning("step ", request.step,
                " is not saved: the checkpoint before is still being written");
    return absl::OkStatus();
  }
  finish(metrics);
  ready_s_ = absl::ToDoubleSeconds(ready - request.asked);
  const CheckpointConfig& config = session_.config.checkpoint;
  const absl::Duration start = clock_.elapsed();
  ASSIGN_OR_RETURN(SaveRequest copy,
                   copy_to_host(request.step, *request.state, pool_,
                                {.chunk_bytes = config.chunk_bytes,
                                 .zstd_level = static_cast<int>(config.zstd_level)}));
  copy.copy_s = absl::ToDoubleSeconds(clock_.elapsed() - start);
  copy.manifest = std::move(request.manifest);
  copy.manifest.step = request.step;
  describe(copy.manifest);
  saver_.save(std::move(copy));
  requested_step_ = request.step;
  saving_ = true;
  stall_s_ = absl::ToDoubleSeconds(clock_.elapsed() - ready);
  return absl::OkStatus();
}

void RunCheckpoints::report(MetricsLogger& metrics) {
  if (saving_ && saver_.idle()) finish(metrics);
}

void RunCheckpoints::finish(MetricsLogger& metrics) {
  const std::optional<SaveResult> last = saver_.wait();
  if (saving_ && last) note(*last, metrics);
}

void RunCheckpoints::note(const SaveResult& result, MetricsLogger& metrics) {
  saving_ = false;
  if (!result.status.ok()) {
    log_error("saving step ", result.step, " failed: ", from_absl(result.status.message()));
    failure_.Update(result.status);
    return;
  }
  const auto milliseconds = [](double seconds) {
    return absl::StrFormat("%.0f ms", seconds * 1e3);
  };
  log_info("saved checkpoint ", checkpoint_folder(manager_.directory(), result.step), " (",
           bytes_text(static_cast<double>(result.bytes)), ": training stalled ",
           milliseconds(stall_s_), ", copy ", milliseconds(result.copy_s), ", write ",
           milliseconds(result.write_s), ", commit ", milliseconds(result.commit_s), ")");
  metrics.save({.step = result.step,
                .bytes = result.bytes,
                .ready_seconds = ready_s_,
                .stall_seconds = stall_s_,
                .copy_seconds = result.copy_s,
                .write_seconds = result.write_s,
                .commit_seconds = result.commit_s});
  good_step_ = std::max(good_step_, result.step);
  warn_if_folder_is_gone();
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
