#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace tessera {

/// What a Linux machine has, as /proc and /sys tell; what cannot be read is empty.
struct Machine {
  std::string cpu_model;
  int cores = 0;                    ///< That this process may run on.
  std::optional<double> cpu_limit;  ///< Of the container, in cores.
  std::optional<double> load;       ///< Threads that wanted to run, over the last minute.
  std::set<std::string> cpu_flags;  ///< As in /proc/cpuinfo: "avx2", "avx512_bf16".
  int64_t memory_bytes = 0;
  int64_t memory_available_bytes = 0;
  std::optional<int64_t> memory_limit_bytes;  ///< Of the container.
  std::string huge_pages;                     ///< Transparent ones: "always", "madvise", "never".
};

/// `root` stands for "/", for tests.
Machine probe_machine(const std::string& root = "");

}  // namespace tessera
