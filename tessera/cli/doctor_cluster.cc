#include "tessera/cli/doctor_cluster.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/format.h"
#include "tessera/base/usage_error.h"
#include "tessera/cli/processes.h"
#include "tessera/coord/cluster_check.h"
#include "tessera/coord/join.h"
#include "tessera/runtime/all_reduce_pace.h"
#include "tessera/train/peers.h"

namespace tessera::cli {
namespace {

constexpr size_t kMostRows = 64;

std::string ms(absl::Duration time) {
  return absl::StrFormat("%.2f ms", absl::ToDoubleMilliseconds(time));
}

// Over the devices of all processes.
Result<AllReducePace> all_reduce(const ClusterCheckOptions& options, coord::Client& client,
                                 const Clock& clock) {
  const Peers peers(client);
  ASSIGN_OR_RETURN(
      const auto runtime,
      Runtime::create({.plugin = options.plugin, .group = peers.group(), .client_options = {}}));
  return measure_all_reduce(*runtime, static_cast<int64_t>(options.all_reduce_mb * 1e6),
                            static_cast<int>(options.rounds), clock);
}

void print(const coord::ClusterSpec& spec, const coord::ClusterPace& pace,
           const std::optional<AllReducePace>& sums, int64_t rounds, std::ostream& out) {
  out << "cluster of " << spec.processes << " processes (" << spec.method << "), coordinator "
      << spec.coordinator << "\n"
      << rounds << " barriers of all, " << ms(pace.median_barrier)
      << " from the first arrival to the last (median)\n";
  TextTable table({true, true, true, false});
  table.add({"process", "late (median)", "late (most)", ""});
  size_t rows = 0, left_out = 0;
  for (const coord::ProcessPace& process : pace.processes) {
    if (!process.slow && rows == kMostRows) {
      ++left_out;
      continue;
    }
    ++rows;
    table.add({std::to_string(process.process), ms(process.median_late), ms(process.worst_late),
               process.slow ? "slow" : ""});
  }
  out << table.text(2);
  if (left_out > 0) out << "  and " << left_out << " more that are not slow\n";
  if (sums) {
    out << absl::StrFormat("%d all-reduces of %.4g MB over %d devices, %.2f ms (median)", rounds,
                           static_cast<double>(sums->bytes) / 1e6, sums->devices,
                           sums->seconds * 1e3);
    if (sums->devices > 1)
      out << absl::StrFormat(": %.3g GB/s a device", sums->bus_bytes_per_second() / 1e9);
    out << "\n";
  }
  bool any = false;
  for (const coord::ProcessPace& process : pace.processes) {
    if (!process.slow) continue;
    any = true;
    out << "could be better: process " << process.process
        << " comes late to most barriers\n  See what else runs on its machine, and its network.\n";
  }
  if (!any) out << "nothing is wrong\n";
}

}  // namespace

Result<int> check_cluster(ClusterCheckOptions options, std::ostream& out) {
  coord::ClusterConfig& config = options.config;
  ASSIGN_OR_RETURN(const auto spec, run_cluster(&config));
  if (!spec) {
    const std::string half = coord::half_a_launcher(coord::real_surroundings().environment);
    return usage_error(failed_precondition(
        "--cluster: this is not a process of a cluster",
        half.empty() ? "" : str_cat(" (", half, ")"),
        ". Start it under tessera launch, mpirun or srun, or give --coordinator-address, "
        "--num-processes and --process-id."));
  }
  PosixFileSystem files;
  RealClock clock;
  ASSIGN_OR_RETURN(const auto membership, coord::Membership::join(config, *spec, files, clock));
  const absl::Duration timeout = absl::Seconds(config.connect_timeout_s);
  ASSIGN_OR_RETURN(
      const coord::ClusterPace pace,
      coord::measure_pace(membership->client(), static_cast<int>(options.rounds), timeout));
  std::optional<AllReducePace> sums;
  if (options.all_reduce_mb > 0) {
    const Result<AllReducePace> measured = all_reduce(options, membership->client(), clock);
    if (!measured.ok()) {
      // So that the others do not wait for what will not come.
      membership->client().report_error(measured.status()).IgnoreError();
      return annotate(measured.status(), "all-reduce");
    }
    sums = *measured;
  }
  if (spec->process == 0) print(*spec, pace, sums, options.rounds, out);
  RETURN_IF_ERROR(membership->leave(timeout));
  return 0;
}

}  // namespace tessera::cli
