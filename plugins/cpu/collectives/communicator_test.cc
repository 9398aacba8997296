// Every collective over every kind of layout, against what plain loops give.

#include "plugins/cpu/collectives/communicator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plugins/cpu/collectives/cluster_testing.h"

namespace tessera::pjrt_cpu {
namespace {

struct Layout {
  std::string name;
  int processes;
  std::vector<int64_t> devices;  // 100 * process + number, in the order of the ranks
};

class EveryLayout : public ::testing::TestWithParam<Layout> {
 protected:
  const Layout& layout() const { return GetParam(); }
  int n() const { return static_cast<int>(layout().devices.size()); }
  void expect_fine(const std::vector<DeviceOutcome>& outcomes) {
    for (const DeviceOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryLayout,
                         ::testing::Values(Layout{"OneProcess", 1, {0, 1, 2}},
                                           Layout{"TwoOfOne", 2, {0, 100}},
                                           Layout{"TwoOfTwo", 2, {0, 1, 100, 101}},
                                           Layout{"Interleaved", 2, {0, 100, 1, 101}},
                                           Layout{"Uneven", 2, {100, 0, 101, 102}},
                                           Layout{"FourOfOne", 4, {300, 0, 200, 100}},
                                           Layout{"ThreeUneven", 3, {0, 1, 100, 200, 201, 202}},
                                           Layout{"ASubset", 4, {1, 101, 301}}),
                         [](const auto& info) { return info.param.name; });

int64_t value(int rank, size_t i) { return (rank + 1) * 1000 + static_cast<int64_t>(i) * 7 % 911; }
std::vector<int64_t> values(int rank, size_t count) {
  std::vector<int64_t> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = value(rank, i);
  return result;
}

TEST_P(EveryLayout, AllReduceInPlaceAndNot) {
  Cluster cluster(layout().processes);
  for (const size_t count : {0, 1, 5, 33, 10'000, 300'001}) {
    std::vector<std::vector<int64_t>> sums(n()), most(n());
    expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
      auto own = values(device.rank, count);
      sums[device.rank] = own;
      auto entry = device.enter();
      entry.communicator->all_reduce(entry.operation, device.rank, sums[device.rank].data(),
                                     sums[device.rank].data(), Element::kS64, count,
                                     Reduction::kSum);
      most[device.rank].resize(count);
      entry = device.enter();
      entry.communicator->all_reduce(entry.operation, device.rank, own.data(),
                                     most[device.rank].data(), Element::kS64, count,
                                     Reduction::kMax);
      EXPECT_EQ(own, values(device.rank, count));
    }));
    std::vector<int64_t> expected(count);
    for (size_t i = 0; i < count; ++i) {
      for (int rank = 0; rank < n(); ++rank) expected[i] += value(rank, i);
    }
    for (int rank = 0; rank < n(); ++rank) {
      EXPECT_EQ(sums[rank], expected) << "rank " << rank << ", count " << count;
      EXPECT_EQ(most[rank], values(n() - 1, count)) << "rank " << rank << ", count " << count;
    }
  }
}

TEST_P(EveryLayout, ReduceScatterAndAllGather) {
  Cluster cluster(layout().processes);
  for (const size_t count : {0, 1, 77, 40'000}) {
    std::vector<std::vector<int64_t>> parts(n()), whole(n());
    expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
      const int rank = device.rank;
      const auto own = values(rank, count * n());
      parts[rank].resize(count);
      auto entry = device.enter();
      entry.communicator->reduce_scatter(entry.operation, rank, own.data(), parts[rank].data(),
                                         Element::kS64, count, Reduction::kSum);
      whole[rank].resize(count * n());
      entry = device.enter();
      entry.communicator->all_gather(entry.operation, rank, parts[rank].data(), whole[rank].data(),
                                     count * sizeof(int64_t));
    }));
    std::vector<int64_t> expected(count * n());
    for (size_t i = 0; i < expected.size(); ++i) {
      for (int rank = 0; rank < n(); ++rank) expected[i] += value(rank, i);
    }
    for (int rank = 0; rank < n(); ++rank) {
      const auto from = expected.begin() + static_cast<int64_t>(rank * count);
      EXPECT_EQ(parts[rank], std::vector<int64_t>(from, from + static_cast<int64_t>(count)));
      EXPECT_EQ(whole[rank], expected);
    }
  }
}

TEST_P(EveryLayout, AllToAll) {
  Cluster cluster(layout().processes);
  for (const size_t count : {0, 1, 50'000}) {
    std::vector<std::vector<std::vector<int64_t>>> got(n());
    expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
      std::vector<std::vector<int64_t>> in(n());
      auto& out = got[device.rank];
      out.assign(n(), std::vector<int64_t>(count));
      std::vector<const void*> ins;
      std::vector<void*> outs;
      for (int other = 0; other < n(); ++other) {
        in[other] = values(device.rank * 100 + other, count);
        ins.push_back(in[other].data());
        outs.push_back(out[other].data());
      }
      auto entry = device.enter();
      entry.communicator->all_to_all(entry.operation, device.rank, ins, outs,
                                     count * sizeof(int64_t));
    }));
    for (int rank = 0; rank < n(); ++rank) {
      for (int other = 0; other < n(); ++other)
        EXPECT_EQ(got[rank][other], values(other * 100 + rank, count));
    }
  }
}

TEST_P(EveryLayout, PermuteAroundTheRingFromOneToAllAndToNobody) {
  Cluster cluster(layout().processes);
  constexpr size_t kCount = 1000;
  std::vector<std::vector<int64_t>> ring(n()), spread(n()), nothing(n());
  expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
    const int rank = device.rank;
    const auto own = values(rank, kCount);
    const auto permute = [&](std::vector<int64_t>& out, std::optional<int> source,
                             const std::vector<int>& targets) {
      out.assign(kCount, -1);
      auto entry = device.enter();
      entry.communicator->permute(entry.operation, rank, own.data(), out.data(),
                                  kCount * sizeof(int64_t), source, targets);
    };
    permute(ring[rank], (rank + n() - 1) % n(), {(rank + 1) % n()});
    std::vector<int> all(n());
    std::iota(all.begin(), all.end(), 0);
    permute(spread[rank], 0, rank == 0 ? all : std::vector<int>());
    // Only 0 sends, to the last one.
    permute(nothing[rank], rank == n() - 1 ? std::optional<int>(0) : std::nullopt,
            rank == 0 ? std::vector<int>{n() - 1} : std::vector<int>());
  }));
  for (int rank = 0; rank < n(); ++rank) {
    EXPECT_EQ(ring[rank], values((rank + n() - 1) % n(), kCount));
    EXPECT_EQ(spread[rank], values(0, kCount));
    EXPECT_EQ(nothing[rank], rank == n() - 1 ? values(0, kCount) : std::vector<int64_t>(kCount, 0));
  }
}

TEST_P(EveryLayout, BroadcastFromEachRoot) {
  Cluster cluster(layout().processes);
  std::vector<std::vector<std::vector<int64_t>>> got(n(), std::vector<std::vector<int64_t>>(n()));
  expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
    for (int root = 0; root < n(); ++root) {
      const auto own = values(device.rank, 100);
      auto& out = got[device.rank][root];
      out.resize(100);
      auto entry = device.enter();
      entry.communicator->broadcast(entry.operation, device.rank, own.data(), out.data(), 800,
                                    root);
    }
  }));
  for (int rank = 0; rank < n(); ++rank) {
    for (int root = 0; root < n(); ++root) EXPECT_EQ(got[rank][root], values(root, 100));
  }
}

// Two cliques at a time in one launch, and all devices in between.
TEST_P(EveryLayout, CliquesOfSomeDevices) {
  Cluster cluster(layout().processes);
  std::vector<int> even, odd;
  for (int rank = 0; rank < n(); ++rank) (rank % 2 == 0 ? even : odd).push_back(rank);
  std::vector<int64_t> sums(n()), totals(n());
  expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
    for (int i = 0; i < 20; ++i) {
      const std::vector<int>& own = device.rank % 2 == 0 ? even : odd;
      sums[device.rank] = device.rank + i;
      auto entry = device.enter_among(own);
      const int rank =
          static_cast<int>(std::find(own.begin(), own.end(), device.rank) - own.begin());
      entry.communicator->all_reduce(entry.operation, rank, &sums[device.rank], &sums[device.rank],
                                     Element::kS64, 1, Reduction::kSum);
      entry = device.enter();
      totals[device.rank] = sums[device.rank];
      entry.communicator->all_reduce(entry.operation, device.rank, &totals[device.rank],
                                     &totals[device.rank], Element::kS64, 1, Reduction::kMin);
    }
  }));
  const auto sum_of = [](const std::vector<int>& ranks) {
    int64_t sum = 0;
    for (const int rank : ranks) sum += rank + 19;
    return sum;
  };
  for (int rank = 0; rank < n(); ++rank) {
    EXPECT_EQ(sums[rank], sum_of(rank % 2 == 0 ? even : odd));
    EXPECT_EQ(totals[rank], std::min(sum_of(even), odd.empty() ? sum_of(even) : sum_of(odd)));
  }
}

TEST_P(EveryLayout, AllProcessesGetTheSameBitsOfFloatingPointSums) {
  Cluster cluster(layout().processes);
  for (const size_t count : {3, 1000, 200'000}) {
    std::vector<std::vector<float>> sums(n());
    expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
      auto& own = sums[device.rank];
      own.resize(count);
      for (size_t i = 0; i < count; ++i)
        own[i] = 1.0f / static_cast<float>(device.rank + i % 97 + 1);
      auto entry = device.enter();
      entry.communicator->all_reduce(entry.operation, device.rank, own.data(), own.data(),
                                     Element::kF32, count, Reduction::kSum);
    }));
    for (int rank = 1; rank < n(); ++rank) EXPECT_EQ(sums[rank], sums[0]);
  }
}

// ---- bytes: by process, for `bytes` in each device

struct Minimum {
  std::string name;
  std::function<void(Launches::Entry&, int rank, int n, char* in, char* out)> run;
  // What process p sends at the least, of n devices in P processes, own of them its own.
  std::function<double(int n, int processes, int own)> bytes;
};
constexpr size_t kBytes = 720'000;  // of a block; divides by all counts here

class SentBytes : public EveryLayout {};
INSTANTIATE_TEST_SUITE_P(
    All, SentBytes,
    ::testing::Values(Layout{"TwoOfOne", 2, {0, 100}}, Layout{"TwoOfTwo", 2, {0, 1, 100, 101}},
                      Layout{"Uneven", 2, {100, 0, 101, 102}},
                      Layout{"FourOfTwo", 4, {0, 1, 100, 101, 200, 201, 300, 301}}),
    [](const auto& info) { return info.param.name; });

TEST_P(SentBytes, AreTheMinimumOfTheAlgorithm) {
  const Minimum kMinima[] = {
      {"all-reduce",
       [](auto& entry, int rank, int, char* in, char* out) {
         entry.communicator->all_reduce(entry.operation, rank, in, out, Element::kF32, kBytes / 4,
                                        Reduction::kSum);
       },
       [](int, int processes, int) { return 2.0 * (processes - 1) / processes * kBytes; }},
      {"all-gather",
       [](auto& entry, int rank, int, char* in, char* out) {
         entry.communicator->all_gather(entry.operation, rank, in, out, kBytes);
       },
       [](int, int processes, int own) { return double(processes - 1) * own * kBytes; }},
      {"reduce-scatter",
       [](auto& entry, int rank, int, char* in, char* out) {
         entry.communicator->reduce_scatter(entry.operation, rank, in, out, Element::kF32,
                                            kBytes / 4, Reduction::kSum);
       },
       [](int n, int, int own) { return double(n - own) * kBytes; }},
      {"all-to-all",
       [](auto& entry, int rank, int n, char* in, char* out) {
         std::vector<const void*> ins;
         std::vector<void*> outs;
         for (int i = 0; i < n; ++i) {
           ins.push_back(in + i * kBytes);
           outs.push_back(out + i * kBytes);
         }
         entry.communicator->all_to_all(entry.operation, rank, ins, outs, kBytes);
       },
       [](int n, int, int own) { return double(own) * (n - own) * kBytes; }},
  };
  for (const Minimum& minimum : kMinima) {
    Cluster cluster(layout().processes);
    expect_fine(cluster.run(layout().devices, [&](Cluster::Device& device) {
      std::vector<char> in(kBytes * n()), out(kBytes * n());
      auto entry = device.enter();
      minimum.run(entry, device.rank, n(), in.data(), out.data());
    }));
    const auto sent = cluster.sent_by_each();
    for (int process = 0; process < layout().processes; ++process) {
      int own = 0;
      for (const int64_t device : layout().devices) own += device / 100 == process;
      const double least = minimum.bytes(n(), layout().processes, own);
      EXPECT_NEAR(static_cast<double>(sent[process]), least, 16 * layout().processes)
          << minimum.name << " in process " << process;
    }
  }
}

// As from processes that run different programs: nothing arrives, and nobody dies of it.
TEST(Communicator, DifferentSizesTimeOutInAll) {
  Cluster cluster(2, std::chrono::milliseconds(300));
  const auto outcomes = cluster.run({0, 100}, [&](Cluster::Device& device) {
    std::vector<float> values(device.rank == 0 ? 4 : 1024, 1.0f);
    auto entry = device.enter();
    entry.communicator->all_reduce(entry.operation, device.rank, values.data(), values.data(),
                                   Element::kF32, values.size(), Reduction::kSum);
  });
  for (const DeviceOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.code, testing::AnyOf(Failure::kDeadlineExceeded, Failure::kUnavailable));
  }
}

TEST(Communicator, AReductionThatDoesNotExistIsAnErrorOfEveryDeviceAndBreaksNothing) {
  Cluster cluster(2);
  const std::vector<int64_t> devices = {0, 1, 100};
  const auto reduce = [&](Reduction reduction) {
    return cluster.run(devices, [&](Cluster::Device& device) {
      float value = 1;
      auto entry = device.enter();
      entry.communicator->all_reduce(entry.operation, device.rank, &value, &value, Element::kF32, 1,
                                     reduction);
      EXPECT_EQ(value, 3);
    });
  };
  for (const DeviceOutcome& outcome : reduce(Reduction::kAnd))
    EXPECT_EQ(outcome.code, Failure::kInvalidArgument);
  for (const DeviceOutcome& outcome : reduce(Reduction::kSum)) EXPECT_EQ(outcome.error, "");
}

}  // namespace
}  // namespace tessera::pjrt_cpu
