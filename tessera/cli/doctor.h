#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/base/machine.h"
#include "tessera/cli/command.h"

namespace tessera::cli {

/// One thing that is not as it should be.
struct Finding {
  bool broken = false;  ///< Nothing will run; otherwise it will, but worse.
  std::string what;
  std::string remedy;
};

/// What the machine lacks.
std::vector<Finding> check_machine(const Machine& machine);

/// What this machine has, which plugin loads, and what is misconfigured.
std::unique_ptr<Command> doctor();

}  // namespace tessera::cli
