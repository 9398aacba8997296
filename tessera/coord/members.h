#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/coord/client.h"

namespace tessera::coord {

/// What the coordinator has told of a cluster's processes, for those who form groups of them. Safe
/// to use from several threads.
class Members {
 public:
  /// For ClientOptions::on_change.
  void take_changes(const std::vector<MemberChange>& changes);

  /// This process is out of the cluster: to it all others are gone.
  void fail(const Status& failure);

  /// Whether this start of a process has ended: it died, left, or another one took its place. OK
  /// while it lives; else ABORTED, and says what became of it.
  Status gone(const ProcessId& id) const;
  /// The processes that live and were not started yet when a group of `processes` was formed.
  std::vector<ProcessId> newcomers(const std::vector<ProcessId>& processes) const;

  using Listener = std::function<void(const std::vector<MemberChange>&)>;
  /// Calls `listener` with each change from now on, without any when this process is out, from the
  /// coordinator client's thread, until the result is destroyed: then it is not running, and is not
  /// called again.
  class Subscription {
   public:
    Subscription(Members& members, Listener listener);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    Members& members_;
    Listener listener_;
  };

 private:
  mutable std::mutex mutex_;
  std::map<int, ProcessId> alive_;  // that changes told of; guarded by mutex_, as the next
  std::map<std::pair<int, uint64_t>, std::string> gone_;  // and what became of it
  Status failure_;                                        // guarded by mutex_
  std::mutex listening_;  // held while listeners run; taken before mutex_
  std::set<const Listener*> listeners_;
};

}  // namespace tessera::coord
