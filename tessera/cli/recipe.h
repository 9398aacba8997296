#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/train/config.h"

namespace tessera::cli {

/// The options --plugin and --devices, which stand for keys of the recipe.
struct DeviceOptions {
  std::string plugin;
  int64_t devices = 0;

  void fields(ConfigFields& f);
  /// Takes --devices from TESSERA_DEVICES_PER_PROCESS, which `tessera launch` sets, unless given:
  /// so many for each of `processes`.
  Status fill_from_launcher(int processes);
  /// What they are as overrides, after those of the command line.
  std::vector<std::string> overrides() const;
};

/// Reads `RECIPE [KEY=VALUE ...]` into a validated config. The recipe may be left out where
/// `needs_recipe` is false: then every operand is an override. Errors are usage errors. `resolved`,
/// if not null, gets the config as YAML with each value's origin.
Result<RunConfig> read_recipe(const std::vector<std::string>& operands, bool needs_recipe,
                              const std::vector<std::string>& more_overrides = {},
                              std::string* resolved = nullptr);

/// Every key of a recipe with its default, for --help.
std::string recipe_help();

}  // namespace tessera::cli
