#pragma once

#include <cstdint>
#include <ostream>

#include "tessera/base/status.h"
#include "tessera/coord/cluster.h"

namespace tessera::cli {

struct ClusterCheckOptions {
  coord::ClusterConfig config;
  int64_t rounds = 20;
};

/// Joins the cluster that this process belongs to, runs barriers over all, and leaves. Process 0
/// prints how long they took and who was slow. The exit code: 0, also where some are slow. An error
/// names who is missing.
Result<int> check_cluster(ClusterCheckOptions options, std::ostream& out);

}  // namespace tessera::cli
