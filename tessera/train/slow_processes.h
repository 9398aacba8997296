#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/train/hang_verdict.h"

namespace tessera {

/// Tells of processes that hold up the others in every step, though they get on: since all wait for
/// the slowest, the steps of all take equally long, and what differs is the time that a process
/// does not wait for others.
class SlowProcesses {
 public:
  /// Slow is one whose own time a step is over `factor` times the median, and over that by a tenth
  /// of the step, in two reports running; and no longer slow is one that is not in two.
  explicit SlowProcesses(double factor) : factor_(factor) {}

  /// What is news in these reports, a line each: who has become slow, and who is so no longer.
  std::vector<std::string> look(const std::map<int, ProcessReport>& reports);

 private:
  const double factor_;
  std::set<int> slow_;
  std::set<int> changing_;  // were otherwise in the report before
};

}  // namespace tessera
