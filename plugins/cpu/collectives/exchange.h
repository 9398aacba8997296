#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/cpu/collectives/key_values.h"

namespace tessera::pjrt_cpu {

/// What a process tells the others of itself when its client is made.
struct ProcessDescription {
  int64_t devices = 1;
  std::optional<int64_t> slice;  ///< its slice of the cluster, where the launcher knows one
  std::string machine;           ///< the same for processes that share a kernel
  bool operator==(const ProcessDescription&) const = default;
};

/// This machine's name for ProcessDescription: it changes with each boot.
std::string machine_name();
/// How often `process` has come back, by what it told in exchange(): a client that is made again
/// under the same keys is another start of the process.
int count_starts(KeyValues& store, int process);

/// Tells `own` to the other processes and learns of them: the descriptions by process. Blocks until
/// all `processes` have come.
///
/// Failures: DEADLINE_EXCEEDED names the processes that did not come within `timeout`;
/// INVALID_ARGUMENT when some processes give a slice and others none; FAILED_PRECONDITION when this
/// process was started again with another number of devices or slice than the first time.
std::vector<ProcessDescription> exchange(KeyValues& store, int process, int processes,
                                         const ProcessDescription& own,
                                         std::chrono::milliseconds timeout);

}  // namespace tessera::pjrt_cpu
