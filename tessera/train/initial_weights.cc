#include "tessera/train/initial_weights.h"

#include <algorithm>

#include "tessera/base/log.h"
#include "tessera/models/lora/model.h"
#include "tessera/train/state_checkpoint.h"

namespace tessera {
namespace {

bool is_number(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Source {
  std::string directory;
  std::optional<int64_t> step;
};

// A run's folder, its checkpoints/, or one step's folder in there.
Source source_of(const std::string& folder, FileSystem& files) {
  std::string path = folder;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string name(base_name(path));
  if (is_number(name) && files.exists(join_path(path, kCheckpointManifestFile)))
    return {std::string(parent_path(path)), std::stoll(name)};
  const std::string inside = join_path(path, "checkpoints");
  return {files.exists(inside) ? inside : path, std::nullopt};
}

}  // namespace

bool is_saved(std::string_view path, const RunConfig& config) {
  return config.lora.rank == 0 || !path.starts_with("params.") || is_adapter(path);
}

std::vector<ArgumentSpec> saved_specs(std::vector<ArgumentSpec> state, const RunConfig& config) {
  std::erase_if(state, [&](const ArgumentSpec& spec) { return !is_saved(spec.path, config); });
  return state;
}

Result<Tree<Array>> load_initial_weights(Session& session, FileSystem& files) {
  const std::string& folder = session.config.checkpoint.initialize_from;
  const Source source = source_of(folder, files);
  const CheckpointManager manager(files, source.directory);
  std::optional<int64_t> step = source.step;
  if (!step) {
    ASSIGN_OR_RETURN(const LatestCheckpoint latest, manager.latest());
    step = latest.step;
  }
  if (!step) {
    return not_found("checkpoint.initialize_from is ", folder,
                     ", where there is no good checkpoint: ",
                     "name a run's output_directory, or a folder in its checkpoints/");
  }
  ASSIGN_OR_RETURN(const auto reader, manager.open(*step));
  std::vector<ArgumentSpec> weights = argument_specs("params", session.model->params());
  std::erase_if(weights, [](const ArgumentSpec& spec) { return is_adapter(spec.path); });
  ASSIGN_OR_RETURN(Tree<Array> params, restore(*session.runtime, *reader, weights, session.layout));
  log_info("weights from ", reader->folder());
  return params;
}

Result<Tree<Array>> load_weights(Session& session, FileSystem& files,
                                 const CheckpointReader& reader) {
  const std::vector<ArgumentSpec> saved =
      saved_specs(argument_specs("params", session.model->params()), session.config);
  ASSIGN_OR_RETURN(Tree<Array> params, restore(*session.runtime, reader, saved, session.layout));
  if (session.config.lora.rank == 0) return params;
  ASSIGN_OR_RETURN(const Tree<Array> base, load_initial_weights(session, files));
  for (const auto& [path, array] : base) RETURN_IF_ERROR(params.add(path, array));
  return params;
}

}  // namespace tessera
