#include "tessera/storage/retry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr RetryPolicy kPolicy = {.attempts = 6,
                                 .first = absl::Seconds(1),
                                 .longest = absl::Seconds(5),
                                 .deadline = absl::Seconds(100)};

/// Seconds of each wait until it gives up.
std::vector<double> waits(const RetryPolicy& policy, double random,
                          std::optional<absl::Duration> asked = std::nullopt) {
  FakeClock clock;
  Retrier tries(policy, clock, [random] { return random; });
  std::vector<double> waits;
  absl::Duration before = clock.elapsed();
  while (tries.wait(asked)) {
    waits.push_back(absl::ToDoubleSeconds(clock.elapsed() - before));
    before = clock.elapsed();
  }
  EXPECT_EQ(clock.elapsed(), before) << "no wait before giving up";
  return waits;
}

TEST(Retrier, WaitsUpToABoundThatDoubles) {
  EXPECT_THAT(waits(kPolicy, 1), ElementsAre(1, 2, 4, 5, 5));
  EXPECT_THAT(waits(kPolicy, 0.5), ElementsAre(0.5, 1, 2, 2.5, 2.5));
  EXPECT_THAT(waits(kPolicy, 0), ElementsAre(0, 0, 0, 0, 0)) << "full jitter";
}

TEST(Retrier, WaitsAtLeastForWhatTheServerAsks) {
  EXPECT_THAT(waits(kPolicy, 1, absl::Seconds(3)), ElementsAre(3, 3, 4, 5, 5));
}

TEST(Retrier, EndsBeforeItsDeadline) {
  RetryPolicy policy = kPolicy;
  policy.deadline = absl::Seconds(8);
  EXPECT_THAT(waits(policy, 1), ElementsAre(1, 2, 4));
  EXPECT_THAT(waits(policy, 1, absl::Seconds(60)), ElementsAre());
}

TEST(Retrier, BeginsAnewAfterProgressButKeepsItsDeadline) {
  FakeClock clock;
  Retrier tries(kPolicy, clock, [] { return 1.0; });
  int count = 0;
  while (tries.wait()) {
    tries.progressed();
    ++count;
  }
  EXPECT_EQ(count, 99);
}

TEST(Retrier, ItsNumbersAreFractionsThatDiffer) {
  const Retrier::Random random = seeded_random();
  std::vector<double> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(random());
  EXPECT_THAT(numbers, Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(1))));
  EXPECT_NE(numbers[0], numbers[1]);
}

}  // namespace
}  // namespace tessera
