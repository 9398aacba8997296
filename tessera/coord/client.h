#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/coord/mtls.h"

namespace tessera::coord {

/// One start of a process. A process that is killed and started again has another incarnation.
struct ProcessId {
  int process = 0;
  uint64_t incarnation = 0;
  bool operator==(const ProcessId&) const = default;
};

/// What became of a process.
struct MemberChange {
  enum State { kAlive, kDead, kLeft };
  ProcessId id;
  State state = kAlive;
  std::string host;
  std::string why;  ///< Of a death: "was ended by signal 9"; empty where its heartbeats ended.
};

struct LiveSet {
  std::vector<ProcessId> processes;  ///< by process
  uint64_t round = 0;
};

struct BarrierArrival {
  int process = 0;
  absl::Duration after_first;
};

struct ClientOptions {
  std::string coordinator;  ///< "host:port"
  int process = 0;
  int processes = 1;
  /// Until the coordinator answers and all processes have come.
  absl::Duration connect_timeout = absl::Seconds(300);
  MtlsConfig mtls;
  /// Called once, from any thread, when this process can no longer take part: another
  /// died (not where processes may come back), somebody reported an error, the coordinator is lost,
  /// or this process was declared dead. Must not destroy the client. A process that does nothing
  /// else should log it and exit.
  std::function<void(const Status&)> on_failure;
  /// Called from a thread of the client's with each change of members, in order.
  std::function<void(const std::vector<MemberChange>&)> on_change;
};

/// This process's connection to the coordinator. Calls may come from any thread; each returns when
/// it is done, and is sent again over a new connection when one breaks, without being carried out
/// twice. After a failure every call returns it.
///
/// A coordinator that does not answer for the heartbeat timeout is lost: UNAVAILABLE.
class Client {
 public:
  /// Registers, and waits until all processes have. Errors name the address, the certificate or the
  /// processes that are missing.
  static Result<std::unique_ptr<Client>> connect(ClientOptions options, Clock& clock);
  /// Without shutdown() before, the others take this for a death once the heartbeats stop.
  virtual ~Client() = default;

  virtual int process() const = 0;
  virtual int processes() const = 0;
  virtual uint64_t incarnation() const = 0;
  virtual absl::Duration heartbeat_timeout() const = 0;
  virtual bool recoverable() const = 0;
  /// Why this process can no longer take part; else OK.
  virtual Status failure() const = 0;

  // Key-values. Keys are not empty and have at most 4 KiB; values at most 16 MiB.

  /// ALREADY_EXISTS where the key has a value and `overwrite` is false.
  virtual Status insert(const std::string& key, const std::string& value,
                        bool overwrite = false) = 0;
  /// Waits for a value; DEADLINE_EXCEEDED.
  virtual Result<std::string> get(const std::string& key, absl::Duration timeout) = 0;
  /// NOT_FOUND.
  virtual Result<std::string> try_get(const std::string& key) = 0;
  /// The new value; a key without one counts as 0. INVALID_ARGUMENT where the value is no integer.
  virtual Result<int64_t> increment(const std::string& key, int64_t by = 1) = 0;
  /// Keys that begin with `prefix`, in their order.
  virtual Result<std::vector<std::pair<std::string, std::string>>> list(
      const std::string& prefix) = 0;
  /// How many were there.
  virtual Result<int64_t> erase(const std::string& key) = 0;
  virtual Result<int64_t> erase_prefix(const std::string& prefix) = 0;

  /// Returns when all `processes` (none: all that are connected) have called it with this id and
  /// list. An id is used once: a later call gets the earlier result. Errors, the same for all:
  /// DEADLINE_EXCEEDED `timeout` after the first came, and says who is missing; INVALID_ARGUMENT
  /// when lists differ or somebody outside calls; CANCELLED; INTERNAL when one died or left.
  virtual Status barrier(const std::string& id, absl::Duration timeout,
                         const std::vector<int>& processes = {}) = 0;
  /// The same, and who arrived when.
  virtual Result<std::vector<BarrierArrival>> timed_barrier(
      const std::string& id, absl::Duration timeout, const std::vector<int>& processes = {}) = 0;
  /// NOT_FOUND when nobody waits there, FAILED_PRECONDITION when it has ended.
  virtual Status cancel_barrier(const std::string& id) = 0;

  /// Waits until all of `processes` (none: all) that are alive have asked, and gives all of them
  /// the same answer: who they are. DEADLINE_EXCEEDED when that takes longer than `timeout`. When
  /// it returns, on_change has returned from all that came to pass before the answer.
  virtual Result<LiveSet> live_set(const std::vector<int>& processes = {},
                                   absl::Duration timeout = absl::InfiniteDuration()) = 0;

  /// Makes the error every process's failure, this one's too.
  virtual Status report_error(const Status& error) = 0;
  /// Ends one start of a process, though its heartbeats may go on: this one, which has failed, or
  /// another that does not get on. `why` follows its name in messages: "was ended by signal 9".
  /// Where processes may come back it is a death like any other; else everyone's failure. Nothing
  /// happens where it is gone already.
  virtual Status declare_dead(const ProcessId& id, const std::string& why) = 0;

  /// Leaves. Where a death is everyone's failure, first waits until all want to leave;
  /// DEADLINE_EXCEEDED names those that did not. To be called once, when nothing else is under way.
  virtual Status shutdown(absl::Duration timeout = absl::Seconds(300)) = 0;
};

}  // namespace tessera::coord
