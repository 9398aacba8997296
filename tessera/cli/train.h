#pragma once

#include <memory>

#include "tessera/cli/command.h"

namespace tessera::cli {

std::unique_ptr<Command> train_command();
std::unique_ptr<Command> generate_command();

}  // namespace tessera::cli
