#include "tessera/coord/cluster_check.h"

#include <algorithm>

#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

absl::Duration median(std::vector<absl::Duration> times) {
  if (times.empty()) return absl::ZeroDuration();
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

ClusterPace judge_pace(const std::vector<std::vector<absl::Duration>>& late) {
  ClusterPace pace;
  std::vector<absl::Duration> medians, lasts;
  for (size_t process = 0; process < late.size(); ++process) {
    const std::vector<absl::Duration>& own = late[process];
    const absl::Duration worst =
        own.empty() ? absl::ZeroDuration() : *std::max_element(own.begin(), own.end());
    pace.processes.push_back({static_cast<int>(process), median(own), worst});
    medians.push_back(pace.processes.back().median_late);
    lasts.resize(std::max(lasts.size(), own.size()));
    for (size_t round = 0; round < own.size(); ++round) {
      lasts[round] = std::max(lasts[round], own[round]);
    }
  }
  pace.median_barrier = median(lasts);
  const absl::Duration usual = median(medians);
  for (ProcessPace& process : pace.processes) {
    process.slow = process.median_late > absl::Milliseconds(20) && process.median_late > 4 * usual;
  }
  return pace;
}

Result<ClusterPace> measure_pace(Client& client, int rounds, absl::Duration timeout) {
  std::vector<std::vector<absl::Duration>> late(static_cast<size_t>(client.processes()));
  for (int round = -1; round < rounds; ++round) {
    const auto arrivals = client.timed_barrier(str_cat("tessera/check/", round), timeout);
    if (!arrivals.ok()) return arrivals.status();
    // Before the first barrier they start at different times.
    if (round < 0) continue;
    for (const BarrierArrival& arrival : *arrivals) {
      if (arrival.process < client.processes()) {
        late[static_cast<size_t>(arrival.process)].push_back(arrival.after_first);
      }
    }
  }
  return judge_pace(late);
}

}  // namespace tessera::coord
