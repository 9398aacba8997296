#include "tessera/cli/processes.h"

#include "tessera/base/strings.h"
#include "tessera/coord/cluster.h"

namespace tessera::cli {

Status require_one_process() {
  const coord::Surroundings surroundings = coord::real_surroundings();
  coord::ClusterConfig config;
  RETURN_IF_ERROR(config.fill_from(surroundings.environment));
  ASSIGN_OR_RETURN(const auto cluster, coord::find_cluster(config, surroundings));
  if (!cluster || cluster->processes == 1) return absl::OkStatus();
  return unimplemented(
      "this is process ", cluster->process, " of ", cluster->processes, " (",
      cluster->method == "flags" ? "TESSERA_NUM_PROCESSES" : cluster->method,
      "), and one model cannot be trained across processes yet: the arrays of this version stay "
      "inside one process. Start one process, with all its devices (--devices-per-process); where "
      "the "
      "launcher's variables mean something else, set TESSERA_CLUSTER_DETECTION=off.");
}

}  // namespace tessera::cli
