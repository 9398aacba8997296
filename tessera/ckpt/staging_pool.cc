#include "tessera/ckpt/staging_pool.h"

#include <map>
#include <mutex>

namespace tessera {

struct StagingPool::State {
  mutable std::mutex mutex;
  std::multimap<size_t, std::unique_ptr<std::byte[]>> free;  // by size; guarded by mutex
  int64_t reserved_bytes = 0;                                // guarded by mutex
};

StagingPool::StagingPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte[]> StagingPool::take(size_t bytes) {
  std::unique_ptr<std::byte[]> block;
  {
    const std::lock_guard lock(state_->mutex);
    // Only of the same size: the arrays of a run's state do not change.
    if (const auto found = state_->free.find(bytes); found != state_->free.end()) {
      block = std::move(found->second);
      state_->free.erase(found);
    } else {
      state_->reserved_bytes += static_cast<int64_t>(bytes);
    }
  }
  if (!block) block = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return {block.release(), [state = state_, bytes](std::byte* returned) {
            const std::lock_guard lock(state->mutex);
            state->free.emplace(bytes, returned);
          }};
}

int64_t StagingPool::reserved_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->reserved_bytes;
}

}  // namespace tessera
