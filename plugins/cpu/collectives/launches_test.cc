// Launches that overlap, and what happens when something dies.

#include "plugins/cpu/collectives/launches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "plugins/cpu/collectives/cluster_testing.h"
#include "plugins/cpu/collectives/exchange.h"

namespace tessera::pjrt_cpu {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

int64_t sum_once(Cluster::Device& device, int64_t value) {
  auto entry = device.enter();
  entry.communicator->all_reduce(entry.operation, device.rank, &value, &value, Element::kS64, 1,
                                 Reduction::kSum);
  return value;
}

std::vector<DeviceOutcome> sums(Cluster& cluster, const std::vector<int64_t>& devices,
                                const std::vector<int>& absent = {}) {
  return cluster.run(
      devices,
      [&](Cluster::Device& device) {
        EXPECT_EQ(sum_once(device, 1), static_cast<int64_t>(devices.size()));
      },
      absent);
}

void expect_all(const std::vector<DeviceOutcome>& outcomes, int code) {
  for (const DeviceOutcome& outcome : outcomes) EXPECT_EQ(outcome.code, code) << outcome.error;
}

// Two launches among the same devices, whose collectives come in another order in each process.
TEST(Launches, ThatOverlapDoNotMix) {
  Cluster cluster(2);
  const std::vector<std::vector<int64_t>> devices = {{0}, {100}};
  const std::vector<int64_t> all = {0, 100};
  std::vector<std::thread> threads;
  for (int process = 0; process < 2; ++process) {
    threads.emplace_back([&, process] {
      Launches& launches = cluster.launches(process);
      const int64_t ids[] = {launches.begin({0, 1}), launches.begin({0, 1})};
      // The first process takes the launches one way round, the second the other.
      std::vector<std::thread> both;
      for (int i = 0; i < 2; ++i) {
        const int launch = process == 0 ? i : 1 - i;
        both.emplace_back([&, launch] {
          for (int k = 0; k < 100; ++k) {
            int64_t value = launch * 1000 + k;
            auto entry = launches.enter(ids[launch], all, {0, 1}, process);
            entry.communicator->all_reduce(entry.operation, process, &value, &value, Element::kS64,
                                           1, Reduction::kSum);
            ASSERT_EQ(value, 2 * (launch * 1000 + k));
          }
        });
        std::this_thread::sleep_for(milliseconds(1));
      }
      for (std::thread& one : both) one.join();
      for (const int64_t id : ids) launches.end(id, std::nullopt);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Launches, MayNotBeMoreThanTheThreadsAllow) {
  Cluster cluster(1);
  Launches& launches = cluster.launches(0);
  std::vector<int64_t> under_way;
  for (int i = 0; i < 4; ++i) under_way.push_back(launches.begin({0}));
  std::atomic<bool> began = false;
  std::thread fifth([&] {
    launches.end(launches.begin({0}), std::nullopt);
    began = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(began);
  launches.end(under_way[0], std::nullopt);
  fifth.join();
  EXPECT_TRUE(began);
}

TEST(Launches, ACollectiveOutsideOfOneIsAnError) {
  Cluster cluster(1);
  EXPECT_THROW(cluster.launches(0).enter(17, {0, 1}, {0, 0}, 0), Failure);
}

TEST(Failures, ATimeoutIsAnErrorEverywhereAndTheNextLaunchWorks) {
  Cluster cluster(3, milliseconds(300));
  const std::vector<int64_t> devices = {0, 1, 100, 200};
  expect_all(sums(cluster, devices), 0);
  const auto outcomes = sums(cluster, devices, /*absent=*/{1});
  for (int rank : {0, 1, 3}) {
    EXPECT_THAT(outcomes[rank].code,
                testing::AnyOf(Failure::kDeadlineExceeded, Failure::kUnavailable));
    EXPECT_THAT(outcomes[rank].error, HasSubstr("process"));
  }
  // The one that was away tries alone, and fails too; then all are together again.
  EXPECT_NE(sums(cluster, devices, /*absent=*/{0, 2})[2].code, 0);
  expect_all(sums(cluster, devices), 0);
}

// One fails before any connection is there that could tell the others.
TEST(Failures, WhatOneHasGivenUpBeforeItConnectedIsWaitedForByNobody) {
  Cluster cluster(3, milliseconds(60'000));  // no timeout saves this test
  const std::vector<int64_t> devices = {0, 100, 200};
  std::atomic<int> began = 0;
  const auto outcomes = cluster.run(devices, [&](Cluster::Device& device) {
    ++began;
    while (device.rank == 1 && began < 3) std::this_thread::sleep_for(milliseconds(1));
    if (device.rank == 1)
      device.launches->fail(device.launch, Failure(Failure::kUnavailable, "no memory"));
    sum_once(device, 1);
  });
  expect_all(outcomes, Failure::kUnavailable);
  expect_all(sums(cluster, devices), 0);
}

TEST(Failures, ADeviceThatDoesNotComeIsNamed) {
  Cluster cluster(1, milliseconds(100));
  const auto outcomes = cluster.run({0, 1, 2}, [](Cluster::Device& device) {
    if (device.rank != 1) sum_once(device, 1);
  });
  EXPECT_EQ(outcomes[0].code + outcomes[2].code, 2 * Failure::kDeadlineExceeded);
  EXPECT_THAT(outcomes[0].error, HasSubstr("1 of 3 devices of this process did not come"));
}

TEST(Failures, ADeathDuringACollectiveIsAnErrorOfAllSurvivorsWhoThenGoOn) {
  Cluster cluster(4, milliseconds(60'000));  // no timeout saves this test
  const std::vector<int64_t> devices = {0, 1, 100, 200, 300, 301};
  expect_all(sums(cluster, devices), 0);
  constexpr size_t kCount = 8'000'000;  // long enough to be in the middle of
  std::atomic<int> started = 0;
  std::thread killer([&] {
    while (started < 5) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(5));
    cluster.launches(2).fail(2, Failure(Failure::kUnavailable, "killed"));  // closes everything
  });
  const auto outcomes = cluster.run(devices, [&](Cluster::Device& device) {
    std::vector<char> data(kCount);
    ++started;
    for (int i = 0; i < 100; ++i) {
      auto entry = device.enter();
      entry.communicator->all_reduce(entry.operation, device.rank, data.data(), data.data(),
                                     Element::kU8, kCount, Reduction::kSum);
    }
  });
  killer.join();
  expect_all(outcomes, Failure::kUnavailable);
  for (int process : {0, 1, 3}) cluster.launches(process).update(2, 0, /*alive=*/false);
  expect_all(sums(cluster, {0, 1, 100, 300, 301}), 0);
  expect_all(sums(cluster, {100, 300}), 0);
  const auto with_the_dead = sums(cluster, {0, 200}, /*absent=*/{2});
  EXPECT_THAT(with_the_dead[0].error, HasSubstr("process 2, which has died"));
}

// One that waits for a survivor, which itself waits for the dead: it learns of it too.
TEST(Failures, ReachThoseThatWaitForSomebodyElse) {
  Cluster cluster(3, milliseconds(60'000));
  const std::vector<int64_t> devices = {0, 100, 200};
  const auto body = [&](Cluster::Device& device, bool dies) {
    int64_t value = 1;
    const auto among = [&](std::vector<int> ranks) {
      auto entry = device.enter_among(ranks);
      const int rank =
          static_cast<int>(std::find(ranks.begin(), ranks.end(), device.rank) - ranks.begin());
      entry.communicator->all_reduce(entry.operation, rank, &value, &value, Element::kS64, 1,
                                     Reduction::kSum);
    };
    if (device.rank < 2) among({0, 1});  // so that both have a connection
    if (device.rank > 0) among({1, 2});
    if (!dies) return;
    if (device.rank == 2) throw Failure(Failure::kUnavailable, "dies");
    if (device.rank == 1) among({1, 2});
    if (device.rank == 0) among({0, 1});
  };
  expect_all(cluster.run(devices, [&](Cluster::Device& device) { body(device, false); }), 0);
  const auto outcomes = cluster.run(devices, [&](Cluster::Device& device) { body(device, true); });
  expect_all(outcomes, Failure::kUnavailable);
}

TEST(Failures, NewsOfADeathEndsWhatWaitsForAConnection) {
  Cluster cluster(2, milliseconds(60'000));
  std::thread news([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cluster.launches(0).update(1, 0, /*alive=*/false);
  });
  const auto outcomes = sums(cluster, {0, 100}, /*absent=*/{1});
  news.join();
  EXPECT_EQ(outcomes[0].code, Failure::kUnavailable);
  EXPECT_THAT(outcomes[0].error, HasSubstr("process 1 has died"));
}

TEST(Failures, AnotherIncarnationEndsWhatWaitsForTheOldOne) {
  Cluster cluster(2, milliseconds(60'000));
  cluster.launches(0).update(1, 17, true);
  std::thread news([&] {
    std::this_thread::sleep_for(milliseconds(50));
    cluster.launches(0).update(1, 18, true);
  });
  const auto outcomes = sums(cluster, {0, 100}, /*absent=*/{1});
  news.join();
  EXPECT_THAT(outcomes[0].error, HasSubstr("process 1 has been started again"));
}

// ---- exchange

TEST(Exchange, CountsTheStartsOfAProcessThatComesBackAndRefusesAnotherShape) {
  MemoryKeyValues store;
  const ProcessDescription one = {.devices = 2, .slice = 1, .machine = "m"};
  exchange(store, 0, 1, one, milliseconds(100));
  EXPECT_EQ(count_starts(store, 0), 0);
  exchange(store, 0, 1, one, milliseconds(100));
  exchange(store, 0, 1, one, milliseconds(100));
  EXPECT_EQ(count_starts(store, 0), 2);
  try {
    exchange(store, 0, 1, {.devices = 3, .slice = 1, .machine = "m"}, milliseconds(100));
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), Failure::kFailedPrecondition);
    EXPECT_THAT(failure.what(), HasSubstr("had 2 devices in slice 1 before, and now has 3"));
  }
}

TEST(NetworkAddress, ThatDoesNotExistIsAnErrorThatNamesTheOptions) {
  for (const Network::Options& options :
       {Network::Options{.interface = "nosuch0"}, Network::Options{.address = "no.such.invalid"},
        Network::Options{.address = "192.0.2.1"}}) {
    try {
      const Network network(options);
      FAIL();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), Failure::kInvalidArgument);
      EXPECT_THAT(failure.what(), HasSubstr("collectives_address"));
    }
  }
}

}  // namespace
}  // namespace tessera::pjrt_cpu
