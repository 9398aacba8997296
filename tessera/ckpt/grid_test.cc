#include "tessera/ckpt/grid.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(Grid, KnowsWhatIsOneRunOfMemory) {
  EXPECT_TRUE(is_contiguous(Dims{2, 4}, Dims{8, 4}));
  EXPECT_TRUE(is_contiguous(Dims{1, 3}, Dims{8, 4}));
  EXPECT_FALSE(is_contiguous(Dims{2, 3}, Dims{8, 4}));
  EXPECT_TRUE(is_contiguous(Dims{}, Dims{}));
}

TEST(Grid, VisitsTheCellsItTouches) {
  std::vector<Dims> visited;
  const auto visit = [&](const Dims& index) {
    visited.push_back(index);
    return absl::OkStatus();
  };
  ASSERT_TRUE(for_each_cell({{3, 4}, {2, 4}}, Dims{4, 4}, visit).ok());
  EXPECT_EQ(visited, (std::vector<Dims>{{0, 1}, {1, 1}}));
  visited.clear();
  ASSERT_TRUE(for_each_cell({{}, {}}, Dims{}, visit).ok());
  EXPECT_EQ(visited, std::vector<Dims>{{}});
  visited.clear();
  ASSERT_TRUE(for_each_cell({{0, 0}, {0, 4}}, Dims{1, 4}, visit).ok());
  EXPECT_TRUE(visited.empty());
}

}  // namespace
}  // namespace tessera
