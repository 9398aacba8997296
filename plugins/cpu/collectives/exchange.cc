#include "plugins/cpu/collectives/exchange.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "plugins/cpu/collectives/failure.h"

namespace tessera::pjrt_cpu {
namespace {

using Clock = std::chrono::steady_clock;

std::string encode(const ProcessDescription& process) {
  std::ostringstream out;
  out << "devices " << process.devices << "\n";
  if (process.slice) out << "slice " << *process.slice << "\n";
  out << "machine " << process.machine << "\n";
  return out.str();
}

ProcessDescription decode(const std::string& text, int process) {
  ProcessDescription result;
  result.devices = 0;
  std::istringstream in(text);
  for (std::string name; in >> name;) {
    if (name == "devices") in >> result.devices;
    if (name == "slice") in >> result.slice.emplace();
    if (name == "machine") in >> result.machine;
  }
  if (result.devices < 1) {
    throw Failure(Failure::kFailedPrecondition,
                  "process " + std::to_string(process) +
                      " describes itself in a way that this version does not understand: all "
                      "processes must use the same plugin");
  }
  return result;
}

std::string key_of(int process) { return "topology/" + std::to_string(process); }

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string start_key(int process, int count) {
  return key_of(process) + "/start/" + std::to_string(count);
}

void count_another_start(KeyValues& store, int process) {
  for (int count = 0;; ++count) {
    try {
      return store.put(start_key(process, count), "again");
    } catch (const Failure& failure) {
      if (failure.code() != Failure::kAlreadyExists) throw;
    }
  }
}

// A process that was started again finds what it said the first time: keys are written once.
void publish(KeyValues& store, int process, const ProcessDescription& own) {
  try {
    return store.put(key_of(process), encode(own));
  } catch (const Failure& failure) {
    if (failure.code() != Failure::kAlreadyExists) throw;
  }
  const ProcessDescription before = decode(store.try_get(key_of(process)), process);
  if (before.devices == own.devices && before.slice == own.slice)
    return count_another_start(store, process);
  throw Failure(Failure::kFailedPrecondition,
                "process " + std::to_string(process) + " had " + std::to_string(before.devices) +
                    " devices in slice " + std::to_string(before.slice.value_or(-1)) +
                    " before, and now has " + std::to_string(own.devices) + " in slice " +
                    std::to_string(own.slice.value_or(-1)) +
                    ": start it again with the same options");
}

[[noreturn]] void throw_missing(KeyValues& store, int first, int processes,
                                std::chrono::milliseconds timeout) {
  std::vector<int> missing = {first};
  for (int other = first + 1; other < processes; ++other) {
    try {
      store.try_get(key_of(other));
    } catch (const Failure&) {
      missing.push_back(other);
    }
  }
  std::ostringstream out;
  out << missing.size() << " of " << processes << " processes did not come within "
      << timeout.count() << " ms (create option 'topology_timeout_ms'): "
      << (missing.size() == 1 ? "process " : "processes ") << join(missing);
  throw Failure(Failure::kDeadlineExceeded, out.str());
}

void check_slices(const std::vector<ProcessDescription>& all) {
  std::vector<int> without;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].slice) without.push_back(static_cast<int>(i));
  }
  if (without.empty() || without.size() == all.size()) return;
  throw Failure(Failure::kInvalidArgument,
                "create option 'slice_index' must be given to all processes or to none; it is "
                "missing for " +
                    join(without));
}

}  // namespace

std::string machine_name() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  if (file >> name) return name;
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return host;
}

int count_starts(KeyValues& store, int process) {
  for (int count = 0;; ++count) {
    try {
      store.try_get(start_key(process, count));
    } catch (const Failure& failure) {
      if (failure.code() != Failure::kNotFound) throw;
      return count;
    }
  }
}

std::vector<ProcessDescription> exchange(KeyValues& store, int process, int processes,
                                         const ProcessDescription& own,
                                         std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  publish(store, process, own);
  std::vector<ProcessDescription> all;
  for (int other = 0; other < processes; ++other) {
    if (other == process) {
      all.push_back(own);
      continue;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    try {
      all.push_back(
          decode(store.get(key_of(other), std::max(left, std::chrono::milliseconds(1))), other));
    } catch (const Failure& failure) {
      if (failure.code() != Failure::kDeadlineExceeded) throw;
      throw_missing(store, other, processes, timeout);
    }
  }
  check_slices(all);
  return all;
}

}  // namespace tessera::pjrt_cpu
