#pragma once

#include <functional>

#include "absl/time/time.h"
#include "tessera/coord/client.h"
#include "tessera/coord/members.h"
#include "tessera/train/trainer.h"

namespace tessera {

struct ElasticOptions {
  int64_t least_processes = 1;  ///< With fewer the run waits for others to come back.
  /// For that many to be there, and for all that live to meet.
  absl::Duration timeout = absl::Seconds(300);
  /// How often in a row processes may be lost before another step is made.
  int64_t most_failures = 10;
  /// Told of each group of processes that trains.
  std::function<void(const Peers&)> on_group = [](const Peers&) {};
};

/// Whether an error may be of another process that died, or of what the coordinator told, rather
/// than of something here.
bool may_follow_from_others(const Status& error);

/// Trains in a cluster whose processes may die and come back: when one is lost, those that are left
/// form a group and go on in place, over a mesh of their devices, from the newest checkpoint of
/// which every shard is there, with the same global batch; a process that comes (back) joins after
/// the next step. Where the recipe names no near tier it is in the memory of the processes'
/// machines
/// (/dev/shm).
///
/// As many of the processes train as the mesh can be fitted to; others wait. `environment.peers`
/// and
/// `.watch` are not used. `client` is of a cluster that is recoverable; `members` hears of its
/// changes. Both outlive the call.
///
/// Errors: those of train(), of which it is sure that they are this process's own; ABORTED when
/// processes are lost again and again.
Result<TrainOutcome> train_elastic(const RunConfig& config, const TrainEnvironment& environment,
                                   coord::Client& client, coord::Members& members,
                                   const ElasticOptions& options);

}  // namespace tessera
