#pragma once

#include <cstdint>

#include "tests/coord/schedule_check.h"

namespace tessera::coord {

/// What may be wrong with the simulated coordinator, to see that the checker notices it. Each
/// stands for a mistake that an implementation could make.
enum class Bug {
  kNone,
  kAppliesCopies,         ///< every copy of a call counts as a new call
  kForgetsFence,          ///< any incarnation of a process may speak for it
  kLosesLastBatch,        ///< a restart loses what was stored last
  kRepliesBeforeStoring,  ///< replies go out, then it crashes
  kTellsOneLess,          ///< one member of a live set gets another answer
  kLiveSetTooEarly,       ///< a live set is answered when most are there
  kListsTheDead,          ///< a live set holds a process that does not wait
  kReusesBarriers,        ///< an ended barrier's id starts a new one
  kBarrierTooEarly,       ///< a barrier ends when the first arrives
  kDropsInserts,          ///< an insert is acknowledged and forgotten
  kNeverFindsDead,        ///< heartbeats are not missed
};

/// Runs one schedule of start, kill, restart, pause, partition, delay, loss, copies and reordering
/// of messages, and of crashes of the coordinator, all drawn from `seed`.
History run_schedule(uint64_t seed, Bug bug = Bug::kNone);

}  // namespace tessera::coord
