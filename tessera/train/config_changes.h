#pragma once

#include <string>
#include <vector>

#include "tessera/base/json.h"

namespace tessera {

/// Which keys of a recipe differ between two resolved configs, each as "training.batch_size 16 ->
/// 8": what a run that goes on has to say. Left out are keys that only one of them has, as after an
/// upgrade, and those that do not bear on what is computed: output_directory and the sections
/// checkpoint, logging, guards and plugin. What is no object, as of a
/// checkpoint without a config, has no keys.
std::vector<std::string> config_changes(const Json& before, const Json& now);

/// Logs them, if there are any. Both are JSON as a manifest holds it.
void log_config_changes(const std::string& before, const std::string& now);

}  // namespace tessera
