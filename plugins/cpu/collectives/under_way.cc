#include "plugins/cpu/collectives/under_way.h"

#include <cstdio>
#include <set>

namespace tessera::pjrt_cpu {
namespace {

constexpr size_t kDevicesShown = 8;

std::string devices_text(const std::vector<int64_t>& devices) {
  const size_t shown = devices.size() <= kDevicesShown ? devices.size() : kDevicesShown - 1;
  std::string text;
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + std::to_string(devices[i]);
  if (shown < devices.size()) text += ", ..., " + std::to_string(devices.back());
  return text;
}

}  // namespace

UnderWay::Scope::Scope(UnderWay& under_way, const char* name, const std::vector<int64_t>& devices)
    : under_way_(under_way) {
  const std::lock_guard lock(under_way_.mutex_);
  entry_ = under_way_.entries_.insert(under_way_.entries_.end(),
                                      {name, &devices, std::chrono::steady_clock::now()});
}

UnderWay::Scope::~Scope() {
  const std::lock_guard lock(under_way_.mutex_);
  under_way_.entries_.erase(entry_);
}

std::string UnderWay::to_text() const {
  const auto now = std::chrono::steady_clock::now();
  std::string text;
  std::set<std::string> told;  // devices of one process are in the same one
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_) {
    const std::string what =
        std::string(entry.name) + " among devices " + devices_text(*entry.devices);
    if (!told.insert(what).second) continue;
    char seconds[32];
    snprintf(seconds, sizeof(seconds), " for %.1f s\n",
             std::chrono::duration<double>(now - entry.since).count());
    text += what + seconds;
  }
  return text;
}

}  // namespace tessera::pjrt_cpu
