#include "tessera/ckpt/parallel.h"

#include <atomic>
#include <mutex>

namespace tessera {

Status try_parallel_for(ThreadPool* pool, size_t count, const std::function<Status(size_t)>& body) {
  if (pool == nullptr) {
    for (size_t i = 0; i < count; ++i) RETURN_IF_ERROR(body(i));
    return absl::OkStatus();
  }
  std::mutex mutex;
  Status first;  // guarded by mutex
  std::atomic<bool> failed = false;
  parallel_for(*pool, count, [&](size_t i) {
    if (failed) return;
    const Status status = body(i);
    if (status.ok() || failed.exchange(true)) return;
    const std::lock_guard lock(mutex);
    first = status;
  });
  return first;
}

}  // namespace tessera
