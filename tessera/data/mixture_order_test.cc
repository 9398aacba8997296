#include "tessera/data/mixture_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<MixtureOrder> order(const std::vector<double>& weights, uint64_t seed = 1,
                                    bool shuffle = true) {
  return MixtureOrder::create(weights, seed, shuffle).value();
}

TEST(MixtureOrder, EachSourceIsUsedInItsOwnOrderWithoutGaps) {
  for (const bool shuffle : {false, true}) {
    const auto mixture = order({0.7, 0.2, 0.1}, 3, shuffle);
    std::vector<int64_t> next(3);
    for (int64_t position = 0; position < 3 * kMixtureBlock; ++position) {
      for (int32_t source = 0; source < 3; ++source)
        ASSERT_EQ(mixture->used(source, position), next[source]);
      const auto place = mixture->at(position);
      ASSERT_EQ(place.index, next[place.source]++);
      ASSERT_EQ(mixture->position_of(place.source, place.index), position);
    }
  }
}

TEST(MixtureOrder, IsInProportionToTheWeights) {
  const auto mixture = order({2, 1, 1});
  EXPECT_THAT(mixture->places(), ElementsAre(2048, 1024, 1024));
  EXPECT_THAT(order({1, 1, 1})->places(), ElementsAre(1366, 1365, 1365));
  EXPECT_THAT(order({5})->places(), ElementsAre(kMixtureBlock));
  // A short part too, as far as chance has it: four deviations of as many draws.
  const int64_t used = mixture->used(0, 400);
  EXPECT_LT(std::abs(static_cast<double>(used) - 200), 40);
  // Without chance, as exactly as whole numbers can be.
  const auto even = order({2, 1, 1}, 1, false);
  for (int64_t position = 0; position < 2 * kMixtureBlock; ++position)
    ASSERT_LE(std::abs(static_cast<double>(even->used(0, position)) - position / 2.0), 1.5);
}

TEST(MixtureOrder, DependsOnTheSeedAndChangesFromBlockToBlock) {
  const auto sources = [](const MixtureOrder& mixture, int64_t begin) {
    std::vector<int32_t> found;
    for (int64_t i = 0; i < kMixtureBlock; ++i) found.push_back(mixture.at(begin + i).source);
    return found;
  };
  const auto mixture = order({1, 1}, 7);
  EXPECT_EQ(sources(*mixture, 0), sources(*order({1, 1}, 7), 0));
  EXPECT_NE(sources(*mixture, 0), sources(*order({1, 1}, 8), 0));
  EXPECT_NE(sources(*mixture, 0), sources(*mixture, kMixtureBlock));
}

// Positions in checkpoints mean something only as long as this stays as it is.
TEST(MixtureOrder, GoldenValues) {
  const auto mixture = order({0.7, 0.2, 0.1}, 42);
  std::vector<int32_t> sources;
  for (int64_t i = 0; i < 24; ++i) sources.push_back(mixture->at(5000 + i).source);
  EXPECT_THAT(sources,
              ElementsAre(0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2));
}

TEST(MixtureOrder, RefusesWeightsThatAreNone) {
  const auto error = [](const std::vector<double>& weights) {
    return std::string(MixtureOrder::create(weights, 1, true).status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("at least one"));
  EXPECT_THAT(error({1, 0}), HasSubstr("weight 0"));
  EXPECT_THAT(error({1, -1}), HasSubstr("weight -1"));
  EXPECT_THAT(error({1, std::nan("")}), HasSubstr("nan"));
  EXPECT_THAT(error({1, 1e-6}), HasSubstr("less than one example in 4096"));
}

TEST(MixtureOrder, WeightsMayBeOfAnySize) {
  for (const double scale : {1e-320, 1e-3, 1.0, 1e307}) {
    const auto order = MixtureOrder::create(std::vector<double>{6 * scale, 2 * scale}, 0, true);
    ASSERT_TRUE(order.ok()) << order.status();
    EXPECT_EQ((*order)->places()[0], 3072) << scale;
  }
  const std::vector<std::string> names = {"web", "code"};
  const Status status =
      MixtureOrder::create(std::vector<double>{1e308, 1}, 0, true, names).status();
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("of source code is less than"));
}

}  // namespace
}  // namespace tessera
