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

Result<std::unique_ptr<CheckpointReader>> open_checkpoint(AnyFileSystem& files,
                                                          const std::string& operand,
                                                          int64_t step) {
  ASSIGN_OR_RETURN(const std::string folder, checkpoint_folder(files, operand));
  const CheckpointManager manager(files, folder);
  if (step >= 0) return manager.open(step);
  ASSIGN_OR_RETURN(const LatestCheckpoint latest, manager.latest(CheckDepth::kFiles));
  if (!latest.step) return not_found(folder, " has no good checkpoint");
  return manager.open(*latest.step);
}

}  // namespace tessera::cli
