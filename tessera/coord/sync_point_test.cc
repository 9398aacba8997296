#include "tessera/coord/sync_point.h"

#include <gtest/gtest.h>

#include <future>
#include <random>
#include <set>

#include "tessera/coord/server.h"

namespace tessera::coord {
namespace {

// Spec 3.7: one process is told to go, and all stop at the same step, however far apart they are.
TEST(SyncPoint, Spec37IsReachedByAllAtTheSameStep) {
  PosixFileSystem files;
  RealClock clock;
  for (int trial = 0; trial < 10; ++trial) {
    const auto server = *Server::start({.processes = 3}, files, clock);
    const auto run = [&](int process) -> Result<int64_t> {
      ASSIGN_OR_RETURN(const auto client,
                       Client::connect({.coordinator = str_cat("127.0.0.1:", server->port()),
                                        .process = process,
                                        .processes = 3},
                                       clock));
      std::mt19937 random(static_cast<unsigned>(trial * 3 + process));
      int64_t stopped = -1;
      {
        SyncPoint point(*client, "preemption");
        for (int64_t step = 0; stopped < 0; ++step) {
          ASSIGN_OR_RETURN(const bool reached, point.reached(step));
          if (reached) stopped = step;
          if (process == 1 && step == 5 + trial) RETURN_IF_ERROR(point.notice());
          clock.sleep(absl::Microseconds(static_cast<int64_t>(random() % 3000) * (process + 1)));
        }
      }
      RETURN_IF_ERROR(client->shutdown());
      return stopped;
    };
    std::vector<std::future<Result<int64_t>>> runs;
    for (int process = 0; process < 3; ++process) {
      runs.push_back(std::async(std::launch::async, run, process));
    }
    std::set<int64_t> steps;
    for (auto& future : runs) {
      const Result<int64_t> step = future.get();
      ASSERT_TRUE(step.ok()) << step.status();
      steps.insert(*step);
    }
    EXPECT_EQ(steps.size(), 1u);
    EXPECT_GT(*steps.begin(), 5 + trial);
  }
}

// A run that goes on from step 45, and is asked to stop while it starts.
TEST(SyncPoint, ANoticeBeforeTheFirstStepIsNotLost) {
  PosixFileSystem files;
  RealClock clock;
  const auto server = *Server::start({.processes = 2}, files, clock);
  const auto run = [&](int process) -> Result<int64_t> {
    ASSIGN_OR_RETURN(const auto client,
                     Client::connect({.coordinator = str_cat("127.0.0.1:", server->port()),
                                      .process = process,
                                      .processes = 2},
                                     clock));
    SyncPoint point(*client, "preemption");
    if (process == 0) RETURN_IF_ERROR(point.notice());
    clock.sleep(absl::Milliseconds(300));  // all have heard of it, most likely
    for (int64_t step = 45; step < 2000; ++step) {
      ASSIGN_OR_RETURN(const bool reached, point.reached(step));
      if (reached) return step;
      clock.sleep(absl::Milliseconds(2));
    }
    return -1;
  };
  auto other = std::async(std::launch::async, run, 1);
  const Result<int64_t> step = run(0), other_step = other.get();
  ASSERT_TRUE(step.ok() && other_step.ok()) << step.status() << other_step.status();
  EXPECT_GT(*step, 45);
  EXPECT_EQ(*step, *other_step);
}

TEST(SyncPoint, IsNowhereWithoutANotice) {
  PosixFileSystem files;
  RealClock clock;
  const auto server = *Server::start({}, files, clock);
  const auto client =
      *Client::connect({.coordinator = str_cat("127.0.0.1:", server->port())}, clock);
  SyncPoint point(*client, "preemption");
  for (int64_t step = 0; step < 1000; ++step) EXPECT_FALSE(*point.reached(step));
}

}  // namespace
}  // namespace tessera::coord
