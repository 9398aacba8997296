#pragma once

#include <memory>
#include <optional>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/join.h"
#include "tessera/train/member_watch.h"
#include "tessera/train/peers.h"

namespace tessera::cli {

/// The cluster that this process is in, as `config`, TESSERA_ variables and launchers tell, in this
/// order; nothing where none does. `config` is filled. Errors are usage errors.
Result<std::optional<coord::ClusterSpec>> run_cluster(coord::ClusterConfig* config);

/// This process among those of its run; without a cluster, or in one of one process, alone.
class RunProcesses {
 public:
  /// Waits until all have come. `files` and `clock` outlive it.
  static Result<std::unique_ptr<RunProcesses>> join(const coord::ClusterConfig& config,
                                                    const std::optional<coord::ClusterSpec>& spec,
                                                    FileSystem& files, Clock& clock);

  Peers& peers() { return *peers_; }
  MemberWatch& watch() { return watch_; }
  /// Leaves with the others, after a run that ended well.
  Status leave();

 private:
  MemberWatch watch_;                              // before the membership, whose threads use it
  std::unique_ptr<coord::Membership> membership_;  // null: alone
  std::unique_ptr<Peers> peers_;
};

}  // namespace tessera::cli
