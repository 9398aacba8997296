#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/base/thread.h"
#include "tessera/coord/join.h"
#include "tessera/coord/members.h"
#include "tessera/live/member_watch.h"
#include "tessera/train/peers.h"

namespace tessera::cli {

/// The cluster that this process is in, as `config`, TESSERA_ variables and launchers tell, in this
/// order; nothing where none does. `config` is filled. Errors are usage errors.
Result<std::optional<coord::ClusterSpec>> run_cluster(coord::ClusterConfig* config);

/// This process among those of its run; without a cluster, or in one of one process, alone.
class RunProcesses {
 public:
  ~RunProcesses();
  /// Waits until all have come. `files` and `clock` outlive it.
  static Result<std::unique_ptr<RunProcesses>> join(const coord::ClusterConfig& config,
                                                    const std::optional<coord::ClusterSpec>& spec,
                                                    FileSystem& files, Clock& clock);

  Peers& peers() { return *peers_; }
  /// Where the others go on when one dies: how to hear of it. Null elsewhere, or alone.
  coord::Client* elastic_client() {
    return membership_ && membership_->client().recoverable() ? &membership_->client() : nullptr;
  }
  coord::Members& members() { return members_; }
  MemberWatch& watch() { return watch_; }
  /// Leaves with the others, after a run that ended well.
  Status leave();
  /// After a run that ended with `error`: tells the others, so that none waits for this one. What
  /// to tell the user: the cluster's failure where that came first and the error may follow from
  /// it. Of wrong usage, which every process finds for itself, nobody is told.
  Status end_with(const Status& error);

 private:
  void take_failure(const Status& failure, int process, int processes);
  /// Ends the process, by force if it must, once it is out of the cluster.
  void end_soon();

  std::atomic<bool> has_ended_ = false;
  std::mutex mutex_;
  Status failure_;     // guarded by mutex_
  MemberWatch watch_;  // before the membership, whose threads use it, as the next ones
  coord::Members members_;
  std::condition_variable ended_;
  bool over_ = false;  // guarded by mutex_
  Thread ender_;
  std::unique_ptr<coord::Membership> membership_;  // null: alone
  std::unique_ptr<Peers> peers_;
};

}  // namespace tessera::cli
