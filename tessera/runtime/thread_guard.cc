#include "tessera/runtime/thread_guard.h"

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace tessera {
namespace {

struct Guarded {
  std::mutex mutex;
  pid_t owner = 0;          // guarded by mutex; of all levels
  std::vector<bool> on;     // guarded by mutex; outermost first
  std::atomic<pid_t> only;  // the thread that may launch; 0: any
};

Guarded& guarded() {
  static Guarded& one = *new Guarded{};  // threads may launch until the process ends
  return one;
}

// What debuggers, top and perf show.
pid_t this_thread() {
  thread_local const pid_t id = gettid();
  return id;
}

void update(Guarded& guard) { guard.only = !guard.on.empty() && guard.on.back() ? guard.owner : 0; }

}  // namespace

Result<ThreadGuard> ThreadGuard::enter(bool on) {
  Guarded& guard = guarded();
  const std::lock_guard lock(guard.mutex);
  if (!guard.on.empty() && guard.owner != this_thread()) {
    return failed_precondition("thread ", this_thread(), " may not enter a thread guard: thread ",
                               guard.owner, " is in one; guards nest within one thread");
  }
  guard.owner = this_thread();
  guard.on.push_back(on);
  update(guard);
  return ThreadGuard();
}

ThreadGuard::ThreadGuard(ThreadGuard&& other) noexcept
    : active_(std::exchange(other.active_, false)) {}

ThreadGuard::~ThreadGuard() {
  if (!active_) return;
  Guarded& guard = guarded();
  const std::lock_guard lock(guard.mutex);
  guard.on.pop_back();
  update(guard);
}

Status ThreadGuard::check_launch(const std::string& program) {
  const pid_t only = guarded().only.load(std::memory_order_relaxed);
  if (only == 0 || only == this_thread()) return absl::OkStatus();
  return failed_precondition("thread ", this_thread(), " may not launch '", program,
                             "', which has devices of several processes: thread ", only,
                             " has the thread guard; launch from that thread, or lift the guard "
                             "there (ThreadGuard::enter(false))");
}

}  // namespace tessera
