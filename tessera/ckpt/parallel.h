#pragma once

#include <cstddef>
#include <functional>

#include "tessera/base/status.h"
#include "tessera/base/thread.h"

namespace tessera {

/// Runs body(i) for each i in [0, count) on the pool, or one after another here when `pool` is
/// null, and returns the first error there was. Bodies not yet begun when one fails are left out.
Status try_parallel_for(ThreadPool* pool, size_t count, const std::function<Status(size_t)>& body);

}  // namespace tessera
