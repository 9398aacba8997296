#include "plugins/cpu/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace tessera::pjrt_cpu {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(MemoryPoolTest, BlocksAreAlignedWritableAndLargeEnough) {
  MemoryPool pool;
  for (size_t bytes :
       {size_t{0}, size_t{1}, size_t{100}, 255 * kMiB / 1024, kMiB, 3 * kMiB + 1, 40 * kMiB}) {
    const MemoryPool::Block block = pool.allocate(bytes, 64);
    ASSERT_NE(block.data, nullptr);
    EXPECT_GE(block.capacity, bytes);
    EXPECT_LE(block.capacity, bytes + bytes / 8 + MemoryPool::kSmallBytes / 4) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % 64, 0u);
    std::memset(block.data, 0xab, bytes);
    pool.release(block, bytes);
  }
  EXPECT_EQ(pool.stats().in_use, 0);
}

TEST(MemoryPoolTest, BlocksFromTwoMebibytesOnStartOnAHugePage) {
  MemoryPool pool;
  const MemoryPool::Block block = pool.allocate(5 * kMiB, 64);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data) % MemoryPool::kHugePage, 0u);
  pool.release(block, 5 * kMiB);
}

TEST(MemoryPoolTest, AReleasedBlockServesTheSameSizeAgain) {
  MemoryPool pool;
  const MemoryPool::Block first = pool.allocate(8 * kMiB, 64);
  pool.release(first, 8 * kMiB);
  const MemoryPool::Block second = pool.allocate(8 * kMiB, 64);
  EXPECT_EQ(second.data, first.data);
  EXPECT_EQ(pool.stats().held, static_cast<int64_t>(first.capacity));
  pool.release(second, 8 * kMiB);
}

TEST(MemoryPoolTest, TakesTheSmallestFittingBlockAndNoneThatIsOverAQuarterTooLarge) {
  MemoryPool pool;
  const MemoryPool::Block large = pool.allocate(24 * kMiB, 64),
                          small = pool.allocate(18 * kMiB, 64);
  pool.release(large, 24 * kMiB);
  pool.release(small, 18 * kMiB);
  const MemoryPool::Block fits = pool.allocate(17 * kMiB, 64);
  EXPECT_EQ(fits.data, small.data);
  const MemoryPool::Block other = pool.allocate(17 * kMiB, 64);  // 24 is more than 17 and a quarter
  EXPECT_NE(other.data, large.data);
  pool.release(fits, 17 * kMiB);
  pool.release(other, 17 * kMiB);
}

TEST(MemoryPoolTest, ARequestBeyondTheLimitIsRefusedAndLeavesThePoolUsable) {
  MemoryPool pool(10 * kMiB);
  const MemoryPool::Block first = pool.allocate(6 * kMiB, 64);
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(pool.allocate(6 * kMiB, 64).data, nullptr);
  EXPECT_EQ(pool.stats().in_use, static_cast<int64_t>(6 * kMiB));
  pool.release(first, 6 * kMiB);
  const MemoryPool::Block other = pool.allocate(9 * kMiB, 64);  // the free block makes way
  EXPECT_NE(other.data, nullptr);
  EXPECT_LE(pool.stats().held, static_cast<int64_t>(10 * kMiB));
  pool.release(other, 9 * kMiB);
}

TEST(MemoryPoolTest, SizesNoLongerAskedForAreGivenBackToTheSystem) {
  MemoryPool pool;
  std::vector<MemoryPool::Block> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.allocate(64 * kMiB, 64));
  for (const MemoryPool::Block& block : blocks) pool.release(block, 64 * kMiB);
  EXPECT_GE(pool.stats().held, static_cast<int64_t>(512 * kMiB));
  for (int64_t i = 0; i < 2 * MemoryPool::kTrimWindow + 2; ++i)
    pool.release(pool.allocate(kMiB, 64), kMiB);
  EXPECT_LE(pool.stats().held, MemoryPool::kTrimSlackBytes + static_cast<int64_t>(4 * kMiB));
  EXPECT_GE(pool.stats().peak_held, static_cast<int64_t>(512 * kMiB));
}

TEST(MemoryPoolTest, MixedSizesDoNotPileUpBeyondAnEighthAndTheSlack) {
  MemoryPool pool;
  std::mt19937 random(1);
  std::vector<std::pair<MemoryPool::Block, size_t>> live;
  int64_t most_rounded = 0, rounded = 0;
  for (int i = 0; i < 5000; ++i) {
    if (live.size() > 20 || (!live.empty() && random() % 2 == 0)) {
      const size_t at = random() % live.size();
      rounded -= static_cast<int64_t>(live[at].first.capacity);
      pool.release(live[at].first, live[at].second);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const size_t bytes = (1 + random() % 4000) * 4096;
      live.emplace_back(pool.allocate(bytes, 64), bytes);
      rounded += static_cast<int64_t>(live.back().first.capacity);
      most_rounded = std::max(most_rounded, rounded);
    }
    ASSERT_LE(pool.stats().held, most_rounded + most_rounded / 8 + MemoryPool::kTrimSlackBytes);
  }
  for (const auto& [block, bytes] : live) pool.release(block, bytes);
}

TEST(MemoryPoolTest, TrimReturnsEveryFreeBlock) {
  MemoryPool pool;
  pool.release(pool.allocate(20 * kMiB, 64), 20 * kMiB);
  EXPECT_GT(pool.stats().held, 0);
  pool.trim();
  EXPECT_EQ(pool.stats().held, 0);
  EXPECT_EQ(pool.stats().largest_free, 0);
}

TEST(MemoryPoolTest, ThreadsNeverShareABlock) {
  MemoryPool pool;
  std::vector<std::thread> threads;
  std::atomic<int> clashes = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 300; ++i) {
        const size_t bytes = (1 + random() % 800) * 4096;
        const MemoryPool::Block block = pool.allocate(bytes, 64);
        std::memset(block.data, t + 1, bytes);
        for (size_t at : {size_t{0}, bytes / 2, bytes - 1})
          clashes += static_cast<char*>(block.data)[at] != t + 1;
        pool.release(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(pool.stats().in_use, 0);
}

}  // namespace
}  // namespace tessera::pjrt_cpu
