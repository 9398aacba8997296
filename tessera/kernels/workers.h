#pragma once

#include <cstdint>
#include <functional>

namespace tessera::kernels {

/// Runs body(i) for each i in [0, count), on this thread and up to `threads` - 1 of the process's
/// workers, and returns when all have run. There is one set of workers, as many as cores less one;
/// they sleep while there is nothing to do. XLA runs calls that do not depend on each other at
/// once: one that finds all cores computing waits for one. What a body throws is thrown here, when
/// all have ended. Inside a body it is a plain loop.
void run_parallel(int threads, int64_t count, const std::function<void(int64_t)>& body);

}  // namespace tessera::kernels
