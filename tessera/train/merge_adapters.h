#pragma once

#include <optional>
#include <string>

#include "tessera/train/session.h"

namespace tessera {

struct MergedAdapters {
  int64_t step = 0;    ///< of the adapters' checkpoint
  std::string folder;  ///< of the checkpoint that was written
};
/// Adds the adapters of a run's checkpoint (the newest good one unless `step`) to its base's
/// weights and writes these, as "params.*" of the model without adapters, to
/// `output`/checkpoints/<step>: what checkpoint.initialize_from and `tessera generate` of a recipe
/// without lora take.
Result<MergedAdapters> merge_adapters(Session& session, FileSystem& files, const Clock& clock,
                                      const std::string& output, std::optional<int64_t> step);

}  // namespace tessera
