#include "tessera/base/signals.h"

#include <unistd.h>

#include <atomic>

#include "tessera/base/status.h"

namespace tessera {
namespace {

// A handler gets no argument of ours, so what it writes has to be here.
std::atomic<int> received_signal{0};
std::atomic<bool> guard_lives{false};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may not lock");

void on_signal(int number) {
  int expected = 0;
  if (!received_signal.compare_exchange_strong(expected, number)) _exit(128 + number);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  CHECK_MSG(!guard_lives.exchange(true), "two InterruptGuards at once");
  received_signal.store(0);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // a read in progress should not fail because someone wants to stop
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previous_interrupt_);
  sigaction(SIGTERM, &action, &previous_terminate_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_interrupt_, nullptr);
  sigaction(SIGTERM, &previous_terminate_, nullptr);
  guard_lives.store(false);
}

int InterruptGuard::signal() const { return received_signal.load(); }

}  // namespace tessera
