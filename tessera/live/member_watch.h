#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/coord/client.h"
#include "tessera/pjrt/client.h"

namespace tessera {

/// Passes what the coordinator tells of a run's processes on to their devices' client, so that a
/// collective that waits for a dead process fails soon instead of at its own timeout. Safe to use
/// from several threads.
class MemberWatch {
 public:
  /// For coord::ClientOptions::on_change.
  void take_changes(const std::vector<coord::MemberChange>& changes);
  /// For coord::ClientOptions::on_failure of `process`: this process takes part no longer, so the
  /// others count as dead to its devices.
  void fail(int process, int processes);
  /// What a live set said, which counts for processes of which nothing else was told.
  void take_live(const coord::LiveSet& live);

  /// Passes on what is known, and from now on all that comes. `client` must live until detach().
  void attach(const pjrt::Client& client);
  bool is_attached() const;
  void detach();

  /// Whatever is told of them, these count as dead to the devices until resume(), so that nothing
  /// waits for them.
  void cut_off(const std::vector<int>& processes);
  void resume();

 private:
  void pass_on();  // mutex_ is held

  mutable std::mutex mutex_;
  std::map<int, pjrt::ProcessState> states_;  // guarded by mutex_
  std::set<int> cut_off_;                     // guarded by mutex_
  const pjrt::Client* client_ = nullptr;      // guarded by mutex_
};

}  // namespace tessera
