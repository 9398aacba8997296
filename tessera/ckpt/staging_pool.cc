#include "tessera/ckpt/staging_pool.h"

#include <map>
#include <mutex>

#include "tessera/base/large_pages.h"

namespace tessera {
namespace {

struct Block {
  std::unique_ptr<std::byte[]> memory;
  std::shared_ptr<const void> pinned;  // last: goes before the memory
};

}  // namespace

struct StagingPool::State {
  Pin pin;
  mutable std::mutex mutex;
  std::multimap<size_t, Block> free;  // by size; guarded by mutex
  int64_t reserved_bytes = 0;         // guarded by mutex
};

StagingPool::StagingPool(Pin pin) : state_(std::make_shared<State>()) {
  state_->pin = std::move(pin);
}

std::shared_ptr<std::byte[]> StagingPool::take(size_t bytes) {
  Block block;
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
  if (!block.memory) {
    block.memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
    prefer_large_pages({block.memory.get(), bytes});
    if (state_->pin && bytes > 0) block.pinned = state_->pin({block.memory.get(), bytes});
  }
  std::byte* const memory = block.memory.get();
  return {memory,
          [state = state_, bytes, held = std::make_shared<Block>(std::move(block))](std::byte*) {
            const std::lock_guard lock(state->mutex);
            state->free.emplace(bytes, std::move(*held));
          }};
}

int64_t StagingPool::reserved_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->reserved_bytes;
}

}  // namespace tessera
