#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/coord/state.h"

namespace tessera::coord {

/// A State, a time that moves when told, and processes that number their calls: for tests.
class StateDriver {
 public:
  explicit StateDriver(const StateOptions& options)
      : options_(options), state_(options, 77, now_) {}

  /// Registers process `process`; its incarnation is process + 100 * (how often it registered).
  wire::Reply join(int process);
  void join_all() {
    for (int process = 0; process < options_.processes; ++process) join(process);
  }
  wire::Reply join_as(int process, uint64_t incarnation);
  /// Sends a new call.
  CallId send(int process, wire::Request request);
  /// Sends exactly this request, caller included.
  CallId resend(const wire::Request& request);
  /// The request that send() made of the call.
  const wire::Request& sent(CallId call) const { return sent_.at(call); }
  /// The reply, if there is one; taken once.
  std::optional<wire::Reply> reply(CallId call);
  /// Its status; CHECKs that there is a reply.
  Status status(CallId call);
  /// Heartbeats of the processes, then time passes.
  void pass(absl::Duration duration, const std::vector<int>& beating);
  void drop(CallId call) { state_.drop(call); }
  /// The process dies and is started again with what it had stored, from a snapshot or from all
  /// records.
  void restart(bool from_snapshot);
  State& state() { return state_; }
  uint64_t incarnation(int process) const { return incarnations_.at(process); }

 private:
  void collect();

  StateOptions options_;
  absl::Duration now_ = absl::Hours(1);
  State state_;
  std::vector<wire::Batch> stored_;
  CallId next_call_ = 1;
  std::map<int, uint64_t> incarnations_, sequences_, joined_;
  std::map<CallId, wire::Request> sent_;
  std::map<CallId, wire::Reply> replies_;
};

// Requests.
wire::Request insert_request(const std::string& key, const std::string& value,
                             bool overwrite = false);
wire::Request get_request(const std::string& key, int64_t timeout_ms = 0);
wire::Request increment_request(const std::string& key, int64_t by);
wire::Request list_request(const std::string& prefix);
wire::Request erase_request(const std::string& key, bool prefix);
wire::Request barrier_request(const std::string& id, const std::vector<int>& processes,
                              int64_t timeout_ms);
wire::Request cancel_request(const std::string& id);
wire::Request live_set_request(const std::vector<int>& processes, int64_t timeout_ms = 0);
wire::Request watch_request(uint64_t version);
wire::Request ready_request(int64_t timeout_ms);
wire::Request report_request(const Status& status);
wire::Request heartbeat_request();
wire::Request leave_request();

}  // namespace tessera::coord
