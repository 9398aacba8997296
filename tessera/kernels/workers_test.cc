#include "tessera/kernels/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera::kernels {
namespace {

int64_t sum_of_calls(int threads, int64_t count) {
  std::atomic<int64_t> sum = 0;
  run_parallel(threads, count, [&](int64_t i) { sum += i + 1; });
  return sum;
}

TEST(Workers, RunEveryTaskOnceAndPassOnWhatOneThrows) {
  for (int threads : {0, 1, 2, 5}) {
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      run_parallel(threads, count, [&](int64_t i) { ++runs[i]; });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
    }
    EXPECT_THROW(run_parallel(threads, 9,
                              [](int64_t i) {
                                if (i == 5) throw std::runtime_error("five");
                              }),
                 std::runtime_error);
  }
}

TEST(Workers, CallsFromManyThreadsAtOnceAllEnd) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) wrong += sum_of_calls(1 + i % 4, 20) != 210;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Workers, ACallInsideABodyIsALoop) {
  std::atomic<int64_t> sum = 0;
  run_parallel(4, 16, [&](int64_t) { sum += sum_of_calls(4, 10); });
  EXPECT_EQ(sum, 16 * 55);
}

TEST(Workers, WhatABodyThrowsIsThrownAndTheNextCallRuns) {
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(run_parallel(2, 50,
                              [&](int64_t i) {
                                if (i == round % 50) throw std::runtime_error("bad");
                              }),
                 std::runtime_error);
    EXPECT_EQ(sum_of_calls(2, 10), 55);
  }
}

}  // namespace
}  // namespace tessera::kernels
