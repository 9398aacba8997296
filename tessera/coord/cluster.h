#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tessera/base/config.h"
#include "tessera/base/status.h"
#include "tessera/coord/mtls.h"

/// Which process of how many this is, and where the coordinator is: from flags, from TESSERA_
/// variables, or from what Open MPI, Slurm and Kubernetes put into the environment.
namespace tessera::coord {

/// What a process can see of where it runs.
struct Surroundings {
  std::map<std::string, std::string> environment;
  /// The host's full name; only looked at under Kubernetes.
  std::string host_name;
};
/// This process's.
Surroundings real_surroundings();

/// What is missing where a launcher's variables are there in part, which is no cluster; empty where
/// none are, or all.
std::string half_a_launcher(const std::map<std::string, std::string>& environment);

struct ClusterSpec {
  std::string method;       ///< "flags", "openmpi", "slurm" or "kubernetes"
  std::string coordinator;  ///< "host:port"
  int processes = 1;
  int process = 0;
  std::optional<int> local_process;  ///< among those of this host
  bool operator==(const ClusterSpec&) const = default;
};

/// How to take part in a cluster.
struct ClusterConfig {
  std::string coordinator_address;
  std::optional<int64_t> num_processes, process_id;
  /// "auto" tries openmpi, slurm, kubernetes, in this order; "off" none.
  std::string cluster_detection = "auto";
  /// Somebody else serves (tessera launch, tessera coordinator); else process 0 does.
  bool external_coordinator = false;
  /// Of process 0 where it serves; empty: the address's own interface where it is known, else all.
  std::string coordinator_bind_address;
  double connect_timeout_s = 300;
  double heartbeat_timeout_s = 100;  ///< of a coordinator in process 0, as the next two
  bool recoverable = false;
  std::string journal;
  MtlsConfig mtls;

  void fields(ConfigFields& f);
  /// Fills what was not given from TESSERA_COORDINATOR_ADDRESS, _NUM_PROCESSES, _PROCESS_ID,
  /// _COORDINATOR_BIND_ADDRESS, _EXTERNAL_COORDINATOR, _CLUSTER_DETECTION and TESSERA_MTLS_*.
  Status fill_from(const std::map<std::string, std::string>& environment);
};

/// The cluster of a filled config. What flags and TESSERA_ variables leave open comes from the
/// first launcher that is found; nothing when neither says anything. Errors: one of address, count
/// and number is missing, each with its own message; a number outside the count; a variable that is
/// no integer; a Kubernetes job that lacks something, with the lines to add.
Result<std::optional<ClusterSpec>> find_cluster(const ClusterConfig& config,
                                                const Surroundings& surroundings);

/// The first host of Slurm's list: "a", "a,b", "n[001-015],b", "n[001,007-015],b".
Result<std::string> first_host(const std::string& node_list);

}  // namespace tessera::coord
