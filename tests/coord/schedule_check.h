#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// What happened in one simulated schedule, and whether it keeps the coordinator's promises.
namespace tessera::coord {

using Micros = int64_t;
inline constexpr Micros kNever = INT64_MAX;

/// Process number and incarnation.
using Who = std::pair<int, uint64_t>;

/// One call of one instance of a process; copies are not calls of their own.
struct CallRecord {
  enum Kind { kLiveSet, kBarrier, kIncrement, kInsertOnce, kInsertOwn, kOverwrite, kRead } kind;
  Who who;
  uint64_t sequence = 0;
  Micros first_sent = 0;
  Micros answered = kNever;  ///< when the process got the reply
  bool fenced = false;       ///< the reply ended the caller's membership
  int code = 0;
  std::string message;
  std::set<int> processes;  ///< of a live set or barrier
  std::string key;          ///< or the barrier's id
  int64_t number = 0;       ///< written, or read, or the sum
  int64_t least = 0;        ///< kRead: what had been acknowledged when it was sent
  uint64_t round = 0;
  std::vector<Who> members;  ///< of a live set
};

/// One start of a process.
struct InstanceRecord {
  Who who;
  Micros registered = kNever;  ///< when it got the reply
  uint64_t order = 0;     ///< the members' version in that reply: who came later has a higher one
  Micros ended = kNever;  ///< killed, or fenced and gone
};

struct History {
  std::vector<CallRecord> calls;
  std::vector<InstanceRecord> instances;
  int64_t final_count = 0;  ///< of the key that is incremented
  std::map<std::string, std::string> final_values;
  bool recoverable = true;
  /// Those that were running in the end and waited for a live set or a failure, without one.
  std::vector<Who> stuck;
};

/// The first promise that the history breaks, in words that begin with its name ("live set: ...",
/// "agreement: ...", "barrier: ...", "key-values: ...", "fencing: ...", "progress: ..."); nothing
/// when it keeps all.
///
/// The rule of live sets: a reply P is valid if at some instant every process of P was waiting and
/// all others of the list were dead, where a death may be moved, but not across an event of that
/// process's own.
std::optional<std::string> broken_promise(const History& history);

}  // namespace tessera::coord
