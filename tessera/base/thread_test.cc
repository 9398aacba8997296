#include "tessera/base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <numeric>

#include "tessera/base/thread_testing.h"

namespace tessera {
namespace {

TEST(Thread, HasItsNameAndIsJoinedWhenItsOwnerGoes) {
  std::string name;
  {
    Thread thread("a-name-that-is-too-long", [&] {
      char text[16];
      pthread_getname_np(pthread_self(), text, sizeof text);
      name = text;
    });
  }
  EXPECT_EQ(name, "a-name-that-is-");
}

TEST(Thread, AssigningOverARunningThreadJoinsItFirst) {
  std::atomic<int> ran{0};
  Thread thread("first", [&] { ++ran; });
  thread = Thread("second", [&] { ++ran; });
  thread.join();
  EXPECT_EQ(ran, 2);
}

TEST(BoundedQueue, HandsOverInOrderAndWaitsWhenFull) {
  BoundedQueue<int> queue(2);
  std::vector<int> got;
  Thread consumer("consumer", [&] {
    while (auto item = queue.pop()) got.push_back(*item);
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(queue.push(i));
    EXPECT_LE(queue.size(), 2u);
  }
  queue.close();
  consumer.join();
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(got, expected);
}

TEST(BoundedQueue, ClosingWakesAWaitingProducerAndConsumer) {
  BoundedQueue<int> full(1), empty(1);
  ASSERT_TRUE(full.push(1));
  bool pushed = true;
  bool popped = true;
  Thread producer("producer", [&] { pushed = full.push(2); });
  Thread consumer("consumer", [&] { popped = empty.pop().has_value(); });
  full.close();
  empty.close();
  producer.join();
  consumer.join();
  EXPECT_FALSE(pushed);
  EXPECT_FALSE(popped);
  EXPECT_EQ(full.pop(), 1);
}

TEST(ThreadPool, RunsEveryTaskBeforeItGoes) {
  std::atomic<int> sum{0};
  {
    ThreadPool pool("pool", 3, 2);
    for (int i = 1; i <= 100; ++i) pool.submit([&sum, i] { sum += i; });
  }
  EXPECT_EQ(sum, 5050);
}

TEST(ThreadPool, WaitReturnsWhenTheTasksHaveRun) {
  ThreadPool pool("pool", 2, 8);
  std::atomic<int> count{0};
  for (int round = 1; round <= 10; ++round) {
    for (int i = 0; i < 5; ++i) pool.submit([&] { ++count; });
    pool.wait();
    EXPECT_EQ(count, 5 * round);
  }
}

TEST(ParallelFor, CallsTheBodyOnceForEachIndex) {
  ThreadPool pool("pool", 2, 4);
  std::vector<std::atomic<int>> calls(1000);
  parallel_for(pool, calls.size(), [&](size_t i) { ++calls[i]; });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  parallel_for(pool, 0, [](size_t) { FAIL(); });
}

TEST(ThreadPool, GoesOnWithAsManyThreadsAsTheSystemGives) {
  if (!can_limit_threads()) GTEST_SKIP() << "a sanitizer needs all of the address space";
  const auto work = [] {
    limit_threads();
    std::atomic<int> done = 0;
    ThreadPool pool("pool", 256, 8);
    for (int i = 0; i < 100; ++i) pool.submit([&] { ++done; });
    pool.wait();
    std::_Exit(pool.size() < 256 && done == 100 ? 0 : 1);
  };
  EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
