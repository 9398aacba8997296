#pragma once

#include <csignal>
#include <vector>

namespace tessera {

/// While one lives, the first SIGINT (Ctrl-C), SIGTERM or SIGHUP (the terminal was closed) only
/// sets a flag that a loop polls, so that it can save and leave. A second SIGINT or SIGTERM ends
/// the process at once with 128 + its number (130 for Ctrl-C). SIGHUP never does: a closing
/// terminal sends it more than once, and what asks to leave after it is a first request. A SIGHUP
/// that was ignored before, as under nohup, stays so. SIGPIPE is ignored: writing to a pipe whose
/// reader left fails, and ends nothing. Signal handlers are the process's, so at most one may live
/// at a time. Who has more to do at a second request than to end lets `polled` of them be counted.
class InterruptGuard {
 public:
  /// `notice`, if not null, is written to stderr at the first signal. It must outlive this.
  explicit InterruptGuard(const char* notice = nullptr, int polled = 1);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal came. Safe for any thread.
  bool interrupted() const { return signal() != 0; }
  /// The signal that came, or 0.
  int signal() const;
  /// How many requests to leave came.
  int requests() const;

 private:
  struct Previous {
    int number;
    struct sigaction action;
  };
  std::vector<Previous> previous_;
};

}  // namespace tessera
