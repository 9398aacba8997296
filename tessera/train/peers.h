#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/coord/client.h"
#include "tessera/coord/exchange.h"
#include "tessera/coord/sync_point.h"
#include "tessera/pjrt/process_group.h"

namespace tessera {

/// The processes of one run, and what they must agree on beside their devices' work. Process 0
/// leads: it writes what there is once, and decides what only one can. A run in one process has
/// nobody to ask.
///
/// All processes make the same calls in the same order, from one thread.
class Peers {
 public:
  /// Alone.
  Peers() = default;
  /// `client` outlives this. Two at a time, as of two threads, need two names.
  explicit Peers(coord::Client& client, const std::string& name = "run");

  int process() const { return client_ == nullptr ? 0 : client_->process(); }
  int count() const { return client_ == nullptr ? 1 : client_->processes(); }
  bool leads() const { return process() == 0; }
  bool alone() const { return count() == 1; }
  /// The same processes under another name.
  std::unique_ptr<Peers> again(const std::string& name) const;
  /// For a client of their devices: the first, the second, ... of all processes.
  pjrt::ProcessGroup group() const;
  /// Tells the others that this process cannot go on, so that none waits for it.
  void give_up(const Status& why);

  /// Runs `work` on the leader; returns on all when it is done, and how it ended.
  Status lead(const std::string& what, const std::function<Status()>& work);
  /// The leader's number, on all.
  Result<int64_t> from_leader(int64_t value);
  /// The leader's text, on all.
  Result<std::string> text_from_leader(const std::string& text);
  /// OK where every process is OK. Else, on all, the error of the first one that has one.
  Status agree(const std::string& what, const Status& own);
  /// Every process's text, by process.
  Result<std::map<int64_t, std::string>> gather_everywhere(const std::string& text);
  /// Every process's text, by process; only on the leader.
  Result<std::vector<std::string>> gather(const std::string& text);

  // Safe to call from any thread, in any order:

  /// Says `text` of this process to whoever asks about `topic`, in the place of what it said
  /// before.
  Status publish(const std::string& topic, const std::string& text);
  /// What processes say about `topic`.
  Result<std::map<int, std::string>> published(const std::string& topic) const;
  /// Which start of this process it is; see coord::ProcessId.
  uint64_t incarnation() const { return client_ == nullptr ? 0 : client_->incarnation(); }
  /// Ends a start of a process that does not get on; see coord::Client.
  Status declare_dead(int process, uint64_t incarnation, const std::string& why);
  /// Why these processes can no longer do anything together; else OK.
  Status failure() const { return client_ == nullptr ? absl::OkStatus() : client_->failure(); }

  // By the one thread:

  /// Whether all do `what` before the step after `step`: true everywhere at the same step, soon
  /// after `wanted` was true somewhere. To be called before each step, in order.
  Result<bool> agree_on_step(const std::string& what, int64_t step, bool wanted);

 private:
  coord::Client* client_ = nullptr;
  std::string name_;
  mutable int clients_ = 0;  // that were made
  std::unique_ptr<coord::Exchange> exchange_;
  struct Agreement {
    std::unique_ptr<coord::SyncPoint> point;
    bool noticed = false;
  };
  std::map<std::string, Agreement> agreements_;  // by what they are on
};

}  // namespace tessera
