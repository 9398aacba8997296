#include "tessera/base/signals.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tessera/base/status.h"

namespace tessera {
namespace {

// A handler gets no argument of ours, so what it reads and writes has to be here.
std::atomic<int> received_signal{0};
std::atomic<int> repeats{0};  // requests after the first
std::atomic<int> most_repeats{0};
std::atomic<const char*> signal_notice{nullptr};
std::atomic<bool> guard_lives{false};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not lock");
static_assert(std::atomic<const char*>::is_always_lock_free, "a handler may not lock");

void write_notice() {
  const char* const notice = signal_notice.load();
  if (notice) (void)!::write(STDERR_FILENO, notice, std::strlen(notice));
}

void on_signal(int number) {
  const int error = errno;  // of the code that was interrupted
  int before = 0;
  if (received_signal.compare_exchange_strong(before, number)) {
    write_notice();
  } else if (number != SIGHUP) {
    if (before != SIGHUP && repeats.fetch_add(1) >= most_repeats.load()) _exit(128 + number);
    received_signal.store(number);
  }
  errno = error;
}

struct sigaction handled_by(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // a read in progress should not fail because someone wants to stop
  sigemptyset(&action.sa_mask);
  return action;
}

}  // namespace

InterruptGuard::InterruptGuard(const char* notice, int polled) {
  CHECK_MSG(!guard_lives.exchange(true), "two InterruptGuards at once");
  received_signal.store(0);
  repeats.store(0);
  most_repeats.store(polled - 1);
  signal_notice.store(notice);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction previous {};
    sigaction(number, nullptr, &previous);
    if (number == SIGHUP && previous.sa_handler == SIG_IGN) continue;
    const struct sigaction action = handled_by(number == SIGPIPE ? SIG_IGN : on_signal);
    sigaction(number, &action, nullptr);
    previous_.push_back({number, previous});
  }
}

InterruptGuard::~InterruptGuard() {
  for (const Previous& previous : previous_) sigaction(previous.number, &previous.action, nullptr);
  signal_notice.store(nullptr);
  guard_lives.store(false);
}

int InterruptGuard::signal() const { return received_signal.load(); }

int InterruptGuard::requests() const { return (signal() != 0 ? 1 : 0) + repeats.load(); }

}  // namespace tessera
