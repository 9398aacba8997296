#pragma once

#include <string>
#include <vector>

#include "tessera/cli/command.h"

namespace tessera::cli {

/// All commands whose names begin with `group` ("data", or "" for all), a line each.
std::string overview(const std::vector<CommandMaker>& commands, const std::string& group);

/// Usage, details, options and more help of one command.
std::string command_help(Command& command);

/// "tessera 0.1.0".
std::string version_text();

}  // namespace tessera::cli
