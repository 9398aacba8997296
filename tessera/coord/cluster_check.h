#pragma once

#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"
#include "tessera/coord/client.h"

namespace tessera::coord {

/// How one process kept up in a series of barriers.
struct ProcessPace {
  int process = 0;
  absl::Duration median_late;  ///< after the first process of each barrier
  absl::Duration worst_late;
  bool slow = false;
};

struct ClusterPace {
  std::vector<ProcessPace> processes;  ///< by process
  absl::Duration median_barrier;       ///< from the first arrival to the last
};

/// Runs `rounds` barriers of all processes, right one after the other: a process that comes late
/// again and again is slow, or far away. To be called by all, once, with the same arguments. Errors
/// name who did not come within `timeout`.
Result<ClusterPace> measure_pace(Client& client, int rounds, absl::Duration timeout);

/// The judgement alone: late[process][round]. Slow is whose median is above 20 ms and above four
/// times the median of all.
ClusterPace judge_pace(const std::vector<std::vector<absl::Duration>>& late);

}  // namespace tessera::coord
