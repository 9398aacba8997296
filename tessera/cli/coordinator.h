#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Serves the coordinator of a cluster until it is told to stop.
std::unique_ptr<Command> coordinator_command();

}  // namespace tessera::cli
