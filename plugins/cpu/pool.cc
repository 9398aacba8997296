#include "plugins/cpu/pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tessera::pjrt_cpu {
namespace {

constexpr size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

// A mapping whose start is on a huge page, so that every whole huge page in it can be one.
void* map_aligned(size_t bytes) {
  const size_t huge = MemoryPool::kHugePage;
  if (bytes < huge) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return data == MAP_FAILED ? nullptr : data;
  }
  void* base =
      mmap(nullptr, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(base);
  char* data = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(begin), huge));
  if (data > begin) munmap(begin, data - begin);
  munmap(data + bytes, begin + huge - data);
  madvise(data, bytes, MADV_HUGEPAGE);  // advice: without huge pages in the kernel all still works
  return data;
}

}  // namespace

MemoryPool::~MemoryPool() { trim(); }

// An eighth of the power of two below, so at most 12.5 % is lost; whole huge pages from 16 MiB on.
size_t MemoryPool::size_class(size_t bytes) {
  const size_t step = std::clamp<size_t>(std::bit_floor(bytes) / 8, 64 << 10, kHugePage);
  return round_up(bytes, step);
}

MemoryPool::Block MemoryPool::allocate(size_t bytes, size_t alignment) {
  const size_t asked = std::max<size_t>(bytes, 1);
  const bool small = asked < kSmallBytes;
  const size_t capacity =
      small ? round_up(asked, std::max<size_t>(alignment, 64)) : size_class(asked);
  std::unique_lock lock(mutex_);
  Block block;
  if (!small) block = take_fitting(capacity);
  if (block.data == nullptr) block = wait_for_return(lock, capacity);
  if (block.data == nullptr) {
    if (!make_room(static_cast<int64_t>(capacity))) return {};
    block = {small ? std::aligned_alloc(std::max<size_t>(alignment, 64), capacity)
                   : map_aligned(capacity),
             capacity};
    if (block.data == nullptr) return {};
    stats_.held += static_cast<int64_t>(capacity);
    stats_.peak_held = std::max(stats_.peak_held, stats_.held);
  }
  stats_.in_use += static_cast<int64_t>(asked);
  stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.in_use);
  stats_.largest = std::max(stats_.largest, static_cast<int64_t>(asked));
  ++stats_.allocations;
  if (block.capacity >= kWaitBytes) ++large_in_use_[block.capacity];
  note_use(static_cast<int64_t>(block.capacity));
  return block;
}

void MemoryPool::release(Block block, size_t bytes) {
  if (block.data == nullptr) return;
  const size_t asked = std::max<size_t>(bytes, 1);
  std::lock_guard lock(mutex_);
  stats_.in_use -= static_cast<int64_t>(asked);
  rounded_in_use_ -= static_cast<int64_t>(block.capacity);
  if (asked < kSmallBytes) {
    std::free(block.data);
    stats_.held -= static_cast<int64_t>(block.capacity);
    return;
  }
  if (auto out = large_in_use_.find(block.capacity); out != large_in_use_.end()) {
    if (--out->second == 0) large_in_use_.erase(out);
  }
  order_.push_back({block.capacity, block.data});
  by_size_.emplace(block.capacity, std::prev(order_.end()));
  drop_down_to(high_water() + high_water() / 8 + kTrimSlackBytes);
  if (block.capacity >= kWaitBytes) returned_.notify_all();
}

void MemoryPool::trim() {
  std::lock_guard lock(mutex_);
  drop_down_to(0);
}

PoolStats MemoryPool::stats() const {
  std::lock_guard lock(mutex_);
  PoolStats stats = stats_;
  stats.limit = limit_;
  stats.largest_free = by_size_.empty() ? 0 : static_cast<int64_t>(by_size_.rbegin()->first);
  return stats;
}

MemoryPool::Block MemoryPool::take_fitting(size_t capacity) {
  const auto found = by_size_.lower_bound(capacity);
  if (found == by_size_.end() || found->first > capacity + capacity / 4) return {};
  const Block block{found->second->data, found->second->capacity};
  order_.erase(found->second);
  by_size_.erase(found);
  return block;
}

MemoryPool::Block MemoryPool::wait_for_return(std::unique_lock<std::mutex>& lock, size_t capacity) {
  const bool large = capacity >= kWaitBytes && static_cast<int64_t>(capacity) >= stats_.held / 16;
  if (!large) return {};
  const auto out = large_in_use_.lower_bound(capacity);
  if (out == large_in_use_.end() || out->first > capacity + capacity / 4) return {};
  Block block;
  returned_.wait_for(lock, kReturnWait, [&] {
    block = take_fitting(capacity);
    return block.data != nullptr;
  });
  return block;
}

// Free blocks make way both for the limit and so that blocks of sizes no longer asked for do not
// pile up.
bool MemoryPool::make_room(int64_t capacity) {
  const int64_t wanted = std::max(high_water(), rounded_in_use_ + capacity);
  int64_t most = wanted + wanted / 8 + kTrimSlackBytes;
  if (limit_ > 0) {
    if (rounded_in_use_ + capacity > limit_) return false;
    most = std::min(most, limit_);
  }
  drop_down_to(most - capacity);
  return true;
}

int64_t MemoryPool::high_water() const { return std::max(window_peak_, previous_window_peak_); }

void MemoryPool::note_use(int64_t capacity) {
  rounded_in_use_ += capacity;
  if (++window_requests_ > kTrimWindow) {
    previous_window_peak_ = window_peak_;
    window_peak_ = 0;
    window_requests_ = 1;
  }
  window_peak_ = std::max(window_peak_, rounded_in_use_);
}

void MemoryPool::drop_down_to(int64_t most_held) {
  while (stats_.held > most_held && !order_.empty()) unmap(order_.begin());
}

void MemoryPool::unmap(Order::iterator block) {
  auto [at, end] = by_size_.equal_range(block->capacity);
  at = std::find_if(at, end, [&](const auto& entry) { return entry.second == block; });
  by_size_.erase(at);
  munmap(block->data, block->capacity);
  stats_.held -= static_cast<int64_t>(block->capacity);
  order_.erase(block);
}

}  // namespace tessera::pjrt_cpu
