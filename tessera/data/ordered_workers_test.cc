#include "tessera/data/ordered_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tessera/base/thread_testing.h"

namespace tessera {
namespace {

TEST(OrderedWorkersTest, GoOnWithAsManyThreadsAsTheSystemGives) {
  if (!can_limit_threads()) GTEST_SKIP() << "a sanitizer needs all of the address space";
  const auto work = [] {
    limit_threads();
    int next = 0;
    OrderedWorkers<int, int> workers({.workers = 256,
                                      .ahead = 512,
                                      .take = [&] { return next++; },
                                      .make = [](int number) { return number; }});
    for (int i = 0; i < 1000; ++i) {
      if (workers.next() != i) std::_Exit(1);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
