#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// The checkpoints of a run, a line each.
std::unique_ptr<Command> checkpoint_ls();
/// Whether every byte is as it was written.
std::unique_ptr<Command> checkpoint_verify();
/// What one checkpoint holds.
std::unique_ptr<Command> checkpoint_show();
/// Where two checkpoints differ.
std::unique_ptr<Command> checkpoint_diff();
/// Old ones removed.
std::unique_ptr<Command> checkpoint_prune();
/// Adapters added to their base.
std::unique_ptr<Command> checkpoint_merge();

}  // namespace tessera::cli
