#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// What a process says of where it is, for the others' watchdogs.
struct ProcessReport {
  uint64_t incarnation = 0;
  bool trains = false;  ///< it is in the loop of steps, not on the way there
  /// Places in the loop that it has come to: the same number, the same place.
  int64_t position = 0;
  std::string activity;     ///< what it does there: "waiting for step 12"
  double seconds = 0;       ///< for so long
  bool stalled = false;     ///< for longer than the hang timeout
  std::string collectives;  ///< that its devices are in, a line each; empty: none, or not known
  // Once it is stalled:
  std::string stack;    ///< of its training thread
  std::string threads;  ///< stacks of all

  // Of the steps that it made lately, in seconds a step; 0 steps: none.
  int64_t steps = 0;
  double step_seconds = 0;
  double own_seconds = 0;   ///< without what it waited for other processes
  double data_seconds = 0;  ///< of these the wait for a batch

  std::string to_text() const;
  /// What is no report is an error.
  static Result<ProcessReport> parse(const std::string& text);
};

/// Who holds up a run that does not get on.
struct HangVerdict {
  bool is_final = false;   ///< else some may get on yet: look again later
  std::vector<int> stuck;  ///< none, though final: it is not known who holds up whom
  std::string message;
};

/// Decided by `own`, which is stalled itself, from all processes' reports. Those that have come the
/// least far hold up the others; where all have come as far, those that are in no collective while
/// others are. A process without a report, of `processes`, has not come to the loop.
HangVerdict judge_hang(int own, int processes, const std::map<int, ProcessReport>& reports);

}  // namespace tessera
