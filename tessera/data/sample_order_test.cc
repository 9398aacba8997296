#include "tessera/data/sample_order.h"

#include <gmock/gmock.h>

#include <vector>

namespace tessera {
namespace {

using testing::ElementsAre;

std::vector<int64_t> first(const SampleOrder& order, int64_t count) {
  std::vector<int64_t> examples;
  for (int64_t position = 0; position < count; ++position)
    examples.push_back(order.at(position).example);
  return examples;
}

// Checkpoints hold positions in this order. The values come from a program of its own in another
// language.
TEST(SampleOrderTest, IsTheSameForEver) {
  EXPECT_THAT(first(SampleOrder(5, 7, true), 15),
              ElementsAre(4, 3, 0, 2, 1, 2, 0, 4, 1, 3, 4, 1, 2, 3, 0));
  EXPECT_EQ(SampleOrder(1'000'000'000, 3, true).at(5'000'012'345).example, 37406646);
}

TEST(SampleOrderTest, WithoutShufflingEpochsGoThroughInOrder) {
  EXPECT_THAT(first(SampleOrder(3, 7, false), 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
  EXPECT_EQ(SampleOrder(3, 7, false).at(6).epoch, 2);
}

TEST(SampleOrderTest, PositionOfIsTheInverse) {
  for (const bool shuffle : {false, true}) {
    const SampleOrder order(13, 99, shuffle);
    for (int64_t position = 0; position < 60; ++position) {
      EXPECT_EQ(order.at(position).epoch, position / 13);
      EXPECT_EQ(order.position_of(order.at(position)), position);
    }
  }
}

}  // namespace
}  // namespace tessera
