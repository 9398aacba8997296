#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/e2e/coordinator_proxy.h"

/// What goes wrong in a run, and when: all of it follows from a seed.
namespace tessera::e2e {

struct Event {
  enum Kind {
    kKill,      ///< SIGKILL
    kStop,      ///< SIGSTOP, and SIGCONT after `seconds`
    kCut,       ///< no connection with the coordinator, for `seconds`
    kFullDisk,  ///< for `seconds`
  };
  Kind kind = kKill;
  std::vector<int> processes;  ///< those that it strikes, if it does
  double seconds = 0;
  bool is_long = false;  ///< kStop, kCut: longer than the heartbeat timeout
  Cut cut = Cut::kNone;  ///< kCut: how
  bool breaks = false;   ///< kCut: connections that were held end with it
  bool is_near = false;  ///< kFullDisk: of the near tier, not of the run's folder
  bool waits = true;     ///< until the run got over the event before
  double after_s = 0;    ///< so much later, whether it waits or not

  /// Whether the run has to go on from a checkpoint because of it.
  bool costs_steps() const { return kind == kKill || is_long; }
};

std::string to_text(const Event& event);

struct ChaosOptions {
  int processes = 4;
  double heartbeat_timeout_s = 5;
};
/// One of each kind, in a random order, each once the run got over the one before.
std::vector<Event> one_of_each(std::mt19937& random, const ChaosOptions& options);
/// Any, also such as strike while the run gets over another.
std::vector<Event> random_events(std::mt19937& random, int count, const ChaosOptions& options);

}  // namespace tessera::e2e
