#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace tessera::pjrt_cpu {

/// What a MemoryPool holds and has held, in bytes unless said.
struct PoolStats {
  int64_t in_use = 0;       ///< handed out now, as asked for (before rounding)
  int64_t peak_in_use = 0;  ///< highest `in_use` so far
  int64_t held = 0;       ///< what the pool has from the system: handed out (rounded) and kept free
  int64_t peak_held = 0;  ///< highest `held` so far
  int64_t largest = 0;    ///< largest single request so far
  int64_t largest_free = 0;  ///< largest block kept free now
  int64_t limit = 0;         ///< 0: none
  int64_t allocations = 0;   ///< number of requests served
};

/// Memory for device buffers and XLA's temporaries. A training step asks for the same sizes again
/// and again, and malloc gives large blocks back to the system each time, so that every step pays
/// the page faults anew. This keeps them.
///
/// Requests below kSmallBytes go to malloc. Larger ones are rounded to size classes, mapped with
/// huge pages, and on release kept: a request takes the smallest free block that is at most a
/// quarter larger than it. A program's temporaries come back a moment after its results are ready,
/// and the next step may already ask for the same: a request that is large, also compared with what
/// the pool holds, waits kReturnWait for a block of its size that is out, rather than map a second
/// one that would stay. The pool is trimmed to what recent use justifies (see kTrim*), oldest
/// blocks first, and never holds more than `limit_bytes`. Thread-safe. Blocks must be given back
/// before the pool dies.
class MemoryPool {
 public:
  static constexpr size_t kSmallBytes = 256 << 10;
  static constexpr size_t kHugePage = 2 << 20;
  /// Held memory may exceed the recent high water of rounded use by an eighth and 32 MiB.
  static constexpr int64_t kTrimSlackBytes = 32 << 20;
  static constexpr int64_t kTrimWindow =
      1024;  ///< requests in one high-water window; the last two count

  static constexpr size_t kWaitBytes = 64 << 20;  ///< smaller requests never wait
  static constexpr std::chrono::milliseconds kReturnWait{20};

  /// limit_bytes: most the pool may hold; 0 for no limit.
  explicit MemoryPool(int64_t limit_bytes = 0) : limit_(limit_bytes) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  struct Block {
    void* data = nullptr;  ///< null: the limit or the system refuses
    size_t capacity = 0;   ///< bytes the pool counts for it
  };
  /// A block of at least `bytes` (0 counts as 1), aligned to `alignment` (a power of two, at most
  /// kHugePage).
  Block allocate(size_t bytes, size_t alignment);
  /// Gives back a block of `allocate`, with the same `bytes`.
  void release(Block block, size_t bytes);
  /// Returns every free block to the system.
  void trim();
  PoolStats stats() const;

 private:
  struct Free {
    size_t capacity;
    void* data;
  };
  using Order = std::list<Free>;  // oldest first
  static size_t size_class(size_t bytes);
  Block take_fitting(size_t capacity);
  Block wait_for_return(std::unique_lock<std::mutex>& lock, size_t capacity);
  bool make_room(int64_t capacity);
  int64_t high_water() const;
  void note_use(int64_t capacity);
  void drop_down_to(int64_t most_held);
  void unmap(Order::iterator block);

  const int64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  Order order_;  // guarded by mutex_, as all below
  std::map<size_t, int64_t>
      large_in_use_;  // blocks of kWaitBytes and more that are out, by capacity
  std::multimap<size_t, Order::iterator> by_size_;
  PoolStats stats_;
  int64_t rounded_in_use_ = 0;
  int64_t window_peak_ = 0, previous_window_peak_ = 0, window_requests_ = 0;
};

}  // namespace tessera::pjrt_cpu
