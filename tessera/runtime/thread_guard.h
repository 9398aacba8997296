#pragma once

#include <string>
#include <thread>

#include "tessera/base/status.h"

namespace tessera {

/// While it lives, only the thread that made it may launch programs whose devices belong to several
/// processes: two threads would launch in an order that chance decides, and other processes in
/// another. Programs on devices of one process may be launched by any thread.
///
/// There is one for the whole process, since all threads share the devices' queues: that is what it
/// looks after. Guards nest within their thread; an inner one that is off lifts the outer one until
/// it ends. To be destroyed by the thread that made it, innermost first.
class ThreadGuard {
 public:
  /// FAILED_PRECONDITION, which names both threads, where another thread has one.
  static Result<ThreadGuard> enter(bool on = true);
  ThreadGuard(ThreadGuard&& other) noexcept;
  ThreadGuard& operator=(ThreadGuard&&) = delete;
  ~ThreadGuard();

  /// Asked before `program`, which has devices of several processes, is launched.
  /// FAILED_PRECONDITION, which names the program and both threads, where another thread has the
  /// guard.
  static Status check_launch(const std::string& program);

 private:
  ThreadGuard() = default;

  bool active_ = true;  // not moved from
};

}  // namespace tessera
