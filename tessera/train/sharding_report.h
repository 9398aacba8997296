#pragma once

#include <string>

#include "tessera/base/status.h"
#include "tessera/train/config.h"

namespace tessera {

/// What every parameter, moment and activation of a recipe becomes on `devices` devices: dimensions
/// with their names, the axes that split them, each device's part and its bytes, and the sums.
/// Touches no device. An error names what does not divide.
Result<std::string> sharding_report(const RunConfig& config, int64_t devices);

}  // namespace tessera
