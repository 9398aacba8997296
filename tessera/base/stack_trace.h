#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Where a thread is: functions, the innermost first, as far as symbols are known
/// ("libc.so.6+0x8f20" where not).
struct ThreadStack {
  int thread = 0;    ///< as the kernel numbers it
  std::string name;  ///< as gdb, perf and top show it
  std::vector<std::string> frames;
};

int this_thread_id();

/// What a thread of this process does now; no frames where it does not answer within a second, as
/// one that blocks all signals, or is throwing an exception or adding code that was compiled at run
/// time. Interrupts the thread, so that a sleep of its may end early: to be
/// asked where something is wrong, not all the time. Safe for any thread.
ThreadStack thread_stack(int thread);

/// Of all threads of this process, in ascending order.
std::vector<ThreadStack> thread_stacks();

/// A line for each frame, and for threads that do the same only one.
std::string to_text(const std::vector<ThreadStack>& stacks);

}  // namespace tessera
