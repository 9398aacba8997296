#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Shows what a recipe's parameters and activations become on a mesh.
std::unique_ptr<Command> mesh();

}  // namespace tessera::cli
