#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/coord/client.h"
#include "tessera/coord/members.h"

namespace tessera::coord {

/// Some of a cluster's processes, as if they were all: numbered from 0 in the order of their
/// numbers there, with key-values and barriers of their own. What works with a Client, such as
/// Exchange, SyncPoint or a PJRT client's key-values, works among them alone.
///
/// A group ends with the first of its processes that dies: then every call, also one that waits,
/// returns ABORTED and names it, and a group of those that are left may be formed. So it is made
/// from a live set, whose answer all of its processes have.
class GroupClient final : public Client {
 public:
  /// `processes` of `set`, this one among them; every one of them makes the same group. Two groups
  /// of one live set need two names. `client` and `members`, which hears of its changes, outlive
  /// this. `on_failure` is told of the group's end, perhaps more than once and from any thread.
  GroupClient(
      Client& client, Members& members, const LiveSet& set, std::vector<ProcessId> processes,
      const std::string& name,
      std::function<void(const GroupClient&)> on_failure = [](const GroupClient&) {});

  const std::vector<ProcessId>& members() const { return processes_; }
  /// Why the group has ended; OK while it has not.
  Status failure() const override;
  /// The same, once it has or `timeout` is over.
  Status wait_for_failure(absl::Duration timeout) const;

  int process() const override { return rank_; }
  int processes() const override { return static_cast<int>(processes_.size()); }
  uint64_t incarnation() const override { return client_.incarnation(); }
  absl::Duration heartbeat_timeout() const override { return client_.heartbeat_timeout(); }
  /// Not within the group.
  bool recoverable() const override { return false; }

  Status insert(const std::string& key, const std::string& value, bool overwrite) override;
  Result<std::string> get(const std::string& key, absl::Duration timeout) override;
  Result<std::string> try_get(const std::string& key) override;
  Result<int64_t> increment(const std::string& key, int64_t by) override;
  Result<std::vector<std::pair<std::string, std::string>>> list(const std::string& prefix) override;
  Result<int64_t> erase(const std::string& key) override;
  Result<int64_t> erase_prefix(const std::string& prefix) override;
  Status barrier(const std::string& id, absl::Duration timeout,
                 const std::vector<int>& processes) override;
  Result<std::vector<BarrierArrival>> timed_barrier(const std::string& id, absl::Duration timeout,
                                                    const std::vector<int>& processes) override;
  Status cancel_barrier(const std::string& id) override;
  Result<LiveSet> live_set(const std::vector<int>& processes, absl::Duration timeout) override;
  /// Ends the group, not the cluster.
  Status report_error(const Status& error) override;
  Status declare_dead(const ProcessId& id, const std::string& why) override;
  /// Nothing: the processes stay in the cluster.
  Status shutdown(absl::Duration) override { return absl::OkStatus(); }

 private:
  std::string key(const std::string& own) const { return prefix_ + own; }
  /// Numbers of the cluster; none: the group's.
  std::vector<int> cluster_numbers(const std::vector<int>& ranks) const;
  int rank_of(const ProcessId& id) const;  // -1: not here
  /// The group's failure before what a call has met because of it.
  Status explained(const Status& status) const;
  void look();

  Client& client_;
  Members& members_;
  const std::vector<ProcessId> processes_;
  const std::string prefix_;
  const std::function<void(const GroupClient&)> on_failure_;
  int rank_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Status failure_;                                       // guarded by mutex_
  std::unique_ptr<Members::Subscription> subscription_;  // last: calls look()
};

}  // namespace tessera::coord
