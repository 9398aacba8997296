#include "tessera/base/machine.h"

#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The value of the first line "name : value" or "name: value".
std::string value_of(const std::string& text, const std::string& name) {
  for (const auto& line : absl::StrSplit(text, '\n')) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) == name)
      return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return "";
}

int64_t kilobytes(const std::string& text) {
  int64_t number = 0;
  const std::string digits = text.substr(0, text.find(' '));
  return absl::SimpleAtoi(digits, &number) ? number * 1024 : 0;
}

int allowed_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// "200000 100000" is two cores' time; "max 100000" no limit.
std::optional<double> cpu_limit(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, ' ');
  double quota = 0, period = 0;
  if (!absl::SimpleAtod(parts.first, &quota)) return std::nullopt;
  if (!absl::SimpleAtod(absl::StripAsciiWhitespace(parts.second), &period) || period <= 0)
    return std::nullopt;
  return quota / period;
}

/// "always [madvise] never" → "madvise".
std::string chosen(const std::string& text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']');
  if (begin == std::string::npos || end == std::string::npos) return "";
  return text.substr(begin + 1, end - begin - 1);
}

}  // namespace

Machine probe_machine(const std::string& root) {
  Machine machine;
  const std::string cpuinfo = read(root + "/proc/cpuinfo");
  machine.cpu_model = value_of(cpuinfo, "model name");
  machine.cores = allowed_cores();
  for (const auto& flag : absl::StrSplit(value_of(cpuinfo, "flags"), ' ', absl::SkipEmpty())) {
    machine.cpu_flags.insert(std::string(flag));
  }
  machine.cpu_limit = cpu_limit(read(root + "/sys/fs/cgroup/cpu.max"));
  double load = 0;
  const std::string loads = read(root + "/proc/loadavg");
  if (absl::SimpleAtod(loads.substr(0, loads.find(' ')), &load)) machine.load = load;
  const std::string meminfo = read(root + "/proc/meminfo");
  machine.memory_bytes = kilobytes(value_of(meminfo, "MemTotal"));
  machine.memory_available_bytes = kilobytes(value_of(meminfo, "MemAvailable"));
  int64_t limit = 0;
  if (absl::SimpleAtoi(read(root + "/sys/fs/cgroup/memory.max"), &limit))
    machine.memory_limit_bytes = limit;
  machine.huge_pages = chosen(read(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  return machine;
}

}  // namespace tessera
