#pragma once

#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/runtime/array.h"
#include "tessera/train/layout.h"

namespace tessera {

/// Copies this process's part of a state to host memory, each part once however many devices hold
/// it, ready to be saved. Waits for the state to be computed. The state may be donated as soon as
/// this returns.
Result<SaveRequest> copy_to_host(int64_t step, const Tree<Array>& state);

/// Reads the arrays that `specs` name onto the layout's mesh; each device's part
/// only. Errors: an array that the checkpoint lacks, or has with another shape or dtype; one that
/// it has beside `specs` in a branch of theirs ("params"); damage.
Result<Tree<Array>> restore(Runtime& runtime, const CheckpointReader& reader,
                            std::span<const ArgumentSpec> specs, const Layout& layout);

/// A warning in the log for each checkpoint that was not taken.
void log_skipped(const LatestCheckpoint& latest);

}  // namespace tessera
