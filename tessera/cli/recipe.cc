#include "tessera/cli/recipe.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "tessera/base/strings.h"
#include "tessera/cli/command.h"

namespace tessera::cli {

void DeviceOptions::fields(ConfigFields& f) {
  f.field("plugin", plugin)
      .help("PJRT plugin: cpu, cuda, rocm, tpu, or its library's path; else plugin.name.");
  f.field("devices", devices)
      .range(0, 1'048'576)
      .help("How many devices, of all processes together; 0: plugin.devices.");
}

Status DeviceOptions::fill_from_launcher(int processes) {
  const char* text = std::getenv("TESSERA_DEVICES_PER_PROCESS");
  if (devices != 0 || !text) return absl::OkStatus();
  int64_t each = 0;
  if (absl::SimpleAtoi(text, &each) && each > 0 && each <= 1'048'576) {
    devices = each * processes;
    return absl::OkStatus();
  }
  return usage_error(invalid_argument("TESSERA_DEVICES_PER_PROCESS is '", text,
                                      "'; required: a positive integer"));
}

std::vector<std::string> DeviceOptions::overrides() const {
  std::vector<std::string> overrides;
  if (!plugin.empty()) overrides.push_back(str_cat("plugin.name=", plugin));
  if (devices > 0) overrides.push_back(str_cat("plugin.devices=", devices));
  return overrides;
}

Result<RunConfig> read_recipe(const std::vector<std::string>& operands, bool needs_recipe,
                              const std::vector<std::string>& more_overrides,
                              std::string* resolved) {
  std::string recipe;
  std::vector<std::string> overrides;
  for (const std::string& operand : operands) {
    if (operand.find('=') != std::string::npos) {
      overrides.push_back(operand);
    } else if (recipe.empty()) {
      recipe = operand;
    } else {
      return usage_error(invalid_argument("two recipes were given, ", recipe, " and ", operand,
                                          "; an override is KEY=VALUE"));
    }
  }
  if (needs_recipe && recipe.empty()) {
    return usage_error(
        invalid_argument("the recipe is missing: a YAML file, such as recipes/quickstart.yaml"));
  }
  overrides.insert(overrides.end(), more_overrides.begin(), more_overrides.end());
  RunConfig config;
  ConfigFields fields(config);
  const Status status = fields.load(recipe, overrides);
  if (!status.ok()) return usage_error(status);
  if (resolved) *resolved = fields.to_yaml_with_origins();
  return config;
}

std::string recipe_help() {
  RunConfig config;
  return str_cat("keys of a recipe, each with its default; KEY=VALUE overrides one:\n\n",
                 ConfigFields(config).help());
}

}  // namespace tessera::cli
