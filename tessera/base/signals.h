#pragma once

#include <csignal>

namespace tessera {

/// While one lives, the first SIGINT (Ctrl-C) or SIGTERM only sets a flag that a loop polls, so
/// that it can save and leave; the second ends the process at once with 128 + its number (130 for
/// Ctrl-C). Signal handlers are the process's, so at most one may live at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal came. Safe for any thread.
  bool interrupted() const { return signal() != 0; }
  /// The signal that came, or 0.
  int signal() const;

 private:
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_terminate_ {};
};

}  // namespace tessera
