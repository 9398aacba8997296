#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// Trains what a recipe says; the same command resumes.
std::unique_ptr<Command> train_command();
/// Continues a prompt with the model of a run's checkpoint.
std::unique_ptr<Command> generate_command();

}  // namespace tessera::cli
