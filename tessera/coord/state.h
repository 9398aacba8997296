#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"
#include "tessera/coord/coord.pb.h"
#include "tessera/coord/key_values.h"

namespace tessera::coord {

struct StateOptions {
  int processes = 1;
  /// Whether the others go on when one dies, and a dead one may come back; else a death is the
  /// cluster's failure.
  bool recoverable = false;
  absl::Duration heartbeat_timeout = absl::Seconds(100);
  KeyValueLimits limits;
  /// Replies of one process that are kept until it says that it got them.
  size_t max_answers = 4096;
  /// How many ended barriers are remembered; the oldest are forgotten.
  size_t max_ended_barriers = 1'000'000;
  size_t max_id_bytes = 4096;
  /// Of one list of key-values.
  int64_t max_list_bytes = int64_t{64} << 20;
};

/// The shell's name for one call that waits for a reply. No two calls at once have the same.
using CallId = uint64_t;

struct Output {
  CallId call;
  std::shared_ptr<const wire::Reply> reply;  ///< the same object where many get the same
};

/// All that a coordinator decides, without network, disk, clock or thread: requests and the passing
/// of time go in, replies and records come out. The same input gives the same output. `now` is a
/// steady time (Clock::elapsed) that never goes back.
///
/// Records are what has to be stored before the replies that were taken with them are sent; a State
/// that restores them knows everything that any caller was told. Calls that wait, and heartbeats,
/// are not among them: callers send them again.
///
/// Not thread-safe.
class State {
 public:
  /// A coordinator's beginning. `service` is random and not 0.
  State(const StateOptions& options, uint64_t service, absl::Duration now);

  /// Takes what a stored batch says. Only before anything else, the oldest batch first. An error
  /// says what does not fit, for example a journal of another number of processes.
  Status restore(const wire::Batch& batch);
  /// Records from which a new State becomes equal to this one.
  wire::Batch snapshot() const;

  void handle(CallId call, const wire::Request& request, absl::Duration now);
  /// Nobody waits for this call's reply any more.
  void drop(CallId call);
  /// See Server::process_ended().
  void process_ended(int process, const std::string& how);
  /// Deadlines and missing heartbeats.
  void advance(absl::Duration now);
  /// When advance() has something to do at the latest; nothing: not before the next call.
  std::optional<absl::Duration> next_event() const;

  std::vector<Output> take_outputs() { return std::exchange(outputs_, {}); }
  wire::Batch take_records();

  uint64_t service() const { return service_; }
  const KeyValues& key_values() const { return values_; }
  /// The cluster's failure, or OK.
  const Status& failure() const { return failure_; }
  /// How many processes are connected now.
  int alive() const;
  int processes() const { return options_.processes; }
  /// A process's present or last start; 0 before the first.
  uint64_t incarnation(int process) const { return members_[process].incarnation; }
  bool is_dead(int process) const { return members_[process].state == wire::Member::DEAD; }
  /// Counts changes of processes.
  uint64_t version() const { return version_; }
  /// Whether somebody was there, and everyone who was has left or died.
  bool all_gone() const;
  /// "process 3 (host, process id 77)".
  std::string name(int process) const;

 private:
  using Reply = std::shared_ptr<const wire::Reply>;
  struct Member {
    uint64_t incarnation = 0;
    wire::Member::State state = wire::Member::UNKNOWN;
    std::string host;
    std::string why_dead;  // empty: no heartbeats came
    absl::Duration last_heard;
    std::set<uint64_t> past;             // incarnations that may not come back
    uint64_t oldest_open = 0;            // calls below were answered and will not be sent again
    std::map<uint64_t, Reply> answered;  // by sequence, from oldest_open on
  };
  /// A call that is answered later, barriers apart.
  struct Wait {
    enum Kind { kReady, kGet, kWatch, kLiveSet } kind;
    int process;
    std::string key;       // kGet
    uint64_t version = 0;  // kWatch
    absl::Duration deadline;
    absl::Duration timeout;
  };
  struct BarrierCall {
    CallId call;
    int process;
    bool want_arrivals;
  };
  struct PendingBarrier {
    bool all = false;  // no list was given
    std::set<int> processes;
    std::map<int, absl::Duration> arrived;
    std::vector<BarrierCall> calls;
    absl::Duration deadline;
    absl::Duration timeout;
    absl::Duration first_arrival;
  };
  struct RoundCall {
    wire::Caller caller;
    std::vector<CallId> calls;  // copies of one call, the latest last
  };
  /// Processes that wait for the same live set: the key of `rounds_` says of which processes.
  using Round = std::map<int, RoundCall>;
  using RoundMap = std::map<std::set<int>, Round>;

  // state.cc
  void dispatch(CallId call, const wire::Request& request, absl::Duration now);
  void dispatch_once(CallId call, const wire::Request& request, absl::Duration now);
  Status check_caller(const wire::Caller& caller) const;
  void answer(CallId call, const Status& status);
  void answer(CallId call, wire::Reply reply);
  void answer_fenced(CallId call, const Status& status);
  /// Answers, and keeps the reply for copies of the call.
  void answer_once(CallId call, const wire::Caller& caller, wire::Reply reply);
  void keep_answer(const wire::Caller& caller, const Reply& reply);
  void trim_answers(Member& member, uint64_t oldest_open);
  void add_wait(CallId call, Wait wait, absl::Duration now);
  std::optional<Wait> take_wait(CallId call);
  void end_waits(absl::Duration now);
  bool is_process(int process) const { return process >= 0 && process < options_.processes; }
  bool is_alive(int process) const { return members_[process].state == wire::Member::ALIVE; }
  std::string names(const std::set<int>& processes) const;

  // state_members.cc
  void register_member(CallId call, const wire::Request& request, absl::Duration now);
  void wait_ready(CallId call, const wire::Request& request, absl::Duration now);
  void watch(CallId call, const wire::Request& request, absl::Duration now);
  void leave(CallId call, const wire::Request& request);
  void report_error(CallId call, const wire::Request& request);
  void declare_dead(CallId call, const wire::Request& request);
  void find_dead(absl::Duration now);
  /// Where the others go on: they are told at once.
  void end_member(int process, const std::string& why);
  void set_member(int process, wire::Member::State state);
  /// What waits for an incarnation that ended, and what it waits for.
  void end_incarnations(const std::set<int>& processes, bool replaced);
  Status why_gone(int process, bool replaced) const;
  void fail(const Status& failure);
  bool everyone_came() const;
  wire::Reply changes_since(uint64_t version) const;
  void answer_watches();
  wire::Member member_record(int process) const;
  Status fenced(int process, uint64_t incarnation) const;

  // state_key_values.cc
  void insert(CallId call, const wire::Request& request);
  void get(CallId call, const wire::Request& request, absl::Duration now);
  void increment(CallId call, const wire::Request& request);
  void list(CallId call, const wire::Request& request);
  void erase(CallId call, const wire::Request& request);
  void record_put(const std::string& key, const std::string& value);
  void answer_gets(const std::string& key, const std::string& value);

  // state_barriers.cc
  void barrier(CallId call, const wire::Request& request, absl::Duration now);
  Status check_barrier(const wire::Request& request) const;
  Status start_barrier(const wire::Request& request, absl::Duration now);
  void cancel_barrier(CallId call, const wire::Request& request);
  void end_barrier(const std::string& id, const Status& result);
  void remember_barrier(const std::string& id, const Status& result);
  void end_late_barriers(absl::Duration now);
  void leave_barriers(const std::set<int>& processes, bool replaced);

  // state_live_set.cc
  void live_set(CallId call, const wire::Request& request, absl::Duration now);
  void live_set_again(CallId call, RoundCall& waiting);
  bool drop_live_set(CallId call, int process);
  void end_late_live_set(CallId call, const Wait& wait);
  void leave_rounds(int process);
  void end_full_rounds();
  bool end_if_full(const std::set<int>& processes, const Round& round);

  // state_restore.cc
  Status restore_record(const wire::Record& record);
  Status restore_started(const wire::Started& started);
  Status restore_member(const wire::MemberChanged& changed);

  StateOptions options_;
  uint64_t service_;
  absl::Duration start_;
  std::vector<Member> members_;
  uint64_t version_ = 0;  // counts changes of members
  uint64_t first_change_ = 0;
  std::vector<wire::Member> changes_;  // [i] made version first_change_ + i + 1
  Status failure_;
  KeyValues values_;
  std::map<CallId, Wait> waits_;
  std::set<std::pair<absl::Duration, CallId>> wait_deadlines_;
  std::map<std::string, std::set<CallId>> gets_;  // by key
  std::map<std::string, PendingBarrier> barriers_;
  std::set<std::pair<absl::Duration, std::string>> barrier_deadlines_;
  std::unordered_map<std::string, Status> ended_barriers_;
  std::vector<std::string> ended_order_;  // a ring, once full
  size_t ended_next_ = 0;
  RoundMap rounds_;
  uint64_t round_ = 0;
  absl::Duration next_heartbeat_check_ = absl::InfiniteDuration();
  std::vector<Output> outputs_;
  wire::Batch records_;
};

/// Whether a request changes something, so that a copy of it must get the first one's reply. Only
/// of such calls does a client have to say which may be sent again: others may be open for hours.
bool is_done_once(const wire::Request& request);
/// A reply that says nothing but the status.
wire::Reply reply_of(const Status& status);
Status status_of(const wire::Reply& reply);
/// Negative and enormous ones are refused: [0, ten years].
Result<absl::Duration> timeout_of(int64_t timeout_ms);

}  // namespace tessera::coord
