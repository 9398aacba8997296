#pragma once

#include <memory>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/ckpt/manager.h"
#include "tessera/storage/any_filesystem.h"

namespace tessera::cli {

/// The folder of checkpoints that an operand means: itself, or `checkpoints` in it when it is a
/// run's folder. NOT_FOUND when neither is there; an error of usage when a store cannot be
/// reached.
Result<std::string> checkpoint_folder(AnyFileSystem& files, const std::string& operand);

/// The checkpoint of that step in the folder that an operand means; -1: the newest good one.
Result<std::unique_ptr<CheckpointReader>> open_checkpoint(AnyFileSystem& files,
                                                          const std::string& operand, int64_t step);

}  // namespace tessera::cli
