#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/join.h"
#include "tessera/train/member_watch.h"
#include "tessera/train/peers.h"

namespace tessera::cli {

/// This process among those of its run, as TESSERA_ variables and launchers tell: one alone where
/// none does.
class RunProcesses {
 public:
  /// Waits until all have come. `files` and `clock` outlive it. Errors are usage errors where the
  /// environment is wrong.
  static Result<std::unique_ptr<RunProcesses>> join(FileSystem& files, Clock& clock);

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
