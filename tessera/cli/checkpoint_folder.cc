#include "tessera/cli/checkpoint_folder.h"

namespace tessera::cli {

Result<std::string> checkpoint_folder(AnyFileSystem& files, const std::string& operand) {
  RETURN_IF_ERROR(files.check(operand, /*writes=*/false));
  const std::string inside = join_path(operand, "checkpoints");
  if (files.exists(inside)) return inside;
  ASSIGN_OR_RETURN(const FileInfo info, files.stat(operand));
  if (!info.is_directory)
    return invalid_argument(operand,
                            " is a file: a run's folder, or its checkpoints/, is required");
  return operand;
}

Result<int64_t> pick_step(const CheckpointManager& manager, int64_t step) {
  if (step >= 0) return step;
  ASSIGN_OR_RETURN(const LatestCheckpoint latest, manager.latest(CheckDepth::kFiles));
  if (!latest.step) return not_found(manager.directory(), " has no good checkpoint");
  return *latest.step;
}

}  // namespace tessera::cli
