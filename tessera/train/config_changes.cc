#include "tessera/train/config_changes.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_join.h"
#include "tessera/base/log.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr const char* kWithoutEffect[] = {"output_directory", "checkpoint",      "logging",
                                          "guards",           "fault_tolerance", "plugin"};

bool has_effect(const std::string& path) {
  for (const char* each : kWithoutEffect) {
    if (path == each) return false;
  }
  return true;
}

void compare(const std::string& path, const Json& before, const Json& now,
             std::vector<std::string>& changes) {
  if (before == now || !has_effect(path)) return;
  if (!before.is_object() || !now.is_object()) {
    changes.push_back(str_cat(path, " ", before.dump(), " -> ", now.dump()));
    return;
  }
  for (const auto& [name, value] : now.items()) {
    if (!before.contains(name)) continue;
    compare(path.empty() ? name : str_cat(path, ".", name), before[name], value, changes);
  }
}

}  // namespace

std::vector<std::string> config_changes(const Json& before, const Json& now) {
  std::vector<std::string> changes;
  if (!before.is_object() || !now.is_object()) return changes;  // nothing to compare with
  compare("", before, now, changes);
  return changes;
}

void log_config_changes(const std::string& before, const std::string& now) {
  const auto parsed = [](const std::string& text) {
    return Json::parse(text, nullptr, /*allow_exceptions=*/false);
  };
  const std::vector<std::string> changes = config_changes(parsed(before), parsed(now));
  if (changes.empty()) return;
  log_info("settings that changed since: ", absl::StrJoin(changes, ", "));
  for (const std::string& change : changes) {
    if (!change.starts_with("training.seed ")) continue;
    log_warning("training.seed has no effect on a run that goes on: it draws the initial weights");
  }
}

}  // namespace tessera
