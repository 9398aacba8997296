#include "tessera/ckpt/box.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tessera {
namespace {

TEST(Box, IntersectsWhereBothAre) {
  const Box a{{0, 4}, {4, 4}}, b{{2, 0}, {5, 5}};
  EXPECT_EQ(intersect(a, b), (Box{{2, 4}, {2, 1}}));
  EXPECT_EQ(intersect(a, Box{{4, 4}, {1, 1}}), std::nullopt);
  EXPECT_EQ(intersect(Box{}, Box{}), Box{}) << "scalars have everything in common";
  EXPECT_EQ(to_string(a), "[0:4,4:8]");
}

TEST(Box, CopiesEveryBoxBetweenEveryPlace) {
  const Dims from_dims{3, 4, 5}, to_dims{4, 4, 5};
  std::vector<uint16_t> from(60);
  std::iota(from.begin(), from.end(), 1);
  for (int64_t n = 0; n < 60; ++n) {
    const Dims extent_less_one = grid_index(n, from_dims);
    Dims extent(3), corner(3), to_corner(3);
    for (size_t i = 0; i < 3; ++i) {
      extent[i] = extent_less_one[i] + 1;
      corner[i] = from_dims[i] - extent[i];
      to_corner[i] = (to_dims[i] - extent[i]) / 2;
    }
    std::vector<uint16_t> to(80, 0), expected(80, 0);
    copy_box(extent, 2, reinterpret_cast<const std::byte*>(from.data()), {from_dims, corner},
             reinterpret_cast<std::byte*>(to.data()), {to_dims, to_corner});
    for (int64_t i = 0; i < extent[0] * extent[1] * extent[2]; ++i) {
      const Dims at = grid_index(i, extent);
      const Dims source{at[0] + corner[0], at[1] + corner[1], at[2] + corner[2]};
      const Dims target{at[0] + to_corner[0], at[1] + to_corner[1], at[2] + to_corner[2]};
      expected[linear_index(target, to_dims)] = from[linear_index(source, from_dims)];
    }
    ASSERT_EQ(to, expected) << dims_to_string(extent);
  }
}

TEST(Box, KnowsWhatIsOneRunOfMemory) {
  EXPECT_TRUE(is_contiguous(Dims{2, 4}, Dims{8, 4}));
  EXPECT_TRUE(is_contiguous(Dims{1, 3}, Dims{8, 4}));
  EXPECT_FALSE(is_contiguous(Dims{2, 3}, Dims{8, 4}));
  EXPECT_TRUE(is_contiguous(Dims{}, Dims{}));
}

TEST(Box, VisitsTheCellsItTouches) {
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
