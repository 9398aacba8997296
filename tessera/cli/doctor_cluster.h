#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "tessera/base/status.h"
#include "tessera/coord/cluster.h"

namespace tessera::cli {

struct ClusterCheckOptions {
  coord::ClusterConfig config;
  int64_t rounds = 20;
  std::string plugin = "cpu";
  double all_reduce_mb = 16;  ///< 0: none
};

/// Joins the cluster that this process belongs to, runs barriers over all processes and all-reduces
/// over all devices, and leaves. Process 0 prints how long they took and who was slow. The exit
/// code: 0, also where some are slow. An error names who is missing.
Result<int> check_cluster(ClusterCheckOptions options, std::ostream& out);

}  // namespace tessera::cli
