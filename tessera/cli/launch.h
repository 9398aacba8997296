#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Runs a program as several processes of this machine, with a coordinator.
std::unique_ptr<Command> launch_command();

}  // namespace tessera::cli
