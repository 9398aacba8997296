#include "tessera/ir/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tessera {
namespace {

using ::testing::ElementsAre;

HostArray iota(Dims dims, int32_t first = 0) {
  HostArray array(Shape{DType::kS32, std::move(dims)});
  std::iota(array.as<int32_t>().begin(), array.as<int32_t>().end(), first);
  return array;
}

int32_t& element(HostArray& array, int64_t i, int64_t j, int64_t k) {
  const Dims& dims = array.shape().dims;
  return array.as<int32_t>()[static_cast<size_t>((i * dims[1] + j) * dims[2] + k)];
}

TEST(Box, IntersectsWhereBothAre) {
  const Box a{{0, 4}, {4, 4}}, b{{2, 0}, {5, 5}};
  EXPECT_EQ(intersect(a, b), (Box{{2, 4}, {2, 1}}));
  EXPECT_EQ(intersect(a, Box{{4, 4}, {1, 1}}), std::nullopt);
  EXPECT_EQ(intersect({{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}), std::nullopt);
  EXPECT_EQ(intersect(Box{}, Box{}), Box{}) << "scalars have everything in common";
  EXPECT_EQ(to_string(a), "[0:4, 4:8]");
}

TEST(Box, SlicesABox) {
  EXPECT_THAT(slice(iota({3, 4}), {{1, 1}, {2, 2}}).as<int32_t>(), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(slice(iota({3, 4}), {{1, 0}, {1, 4}}).as<int32_t>(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(slice(iota({}), {{}, {}}).as<int32_t>(), ElementsAre(0));
}

TEST(Box, BoxesOutsideEachOtherCopyNothing) {
  HostArray whole = iota({2, 2});
  paste(iota({2, 2}), {{2, 0}, {2, 2}}, whole);
  EXPECT_THAT(whole.as<int32_t>(), ElementsAre(0, 1, 2, 3));
}

TEST(Box, CopiesTheOverlapOfTwoParts) {
  const HostArray from = iota({2, 3});  // rows 1-2, columns 1-3 of a 4 x 5 tensor
  HostArray to = iota({3, 2});          // rows 0-2, columns 2-3
  copy_overlap({{{1, 1}, {2, 3}}, from.bytes().data()}, {{{0, 2}, {3, 2}}, to.bytes().data()}, 4);
  EXPECT_THAT(to.as<int32_t>(), ElementsAre(0, 1, 1, 2, 4, 5));
}

// Every way in which a small box can lie across a larger one.
TEST(Box, CopiesEveryOverlapOfTwoBoxes) {
  HostArray from = iota({3, 4, 5}, 1);
  for (int64_t n = 0; n < 4 * 6 * 8; ++n) {
    const Dims start{n / 48 - 1, n / 8 % 6 - 2, n % 8 - 3};
    HostArray to(Shape{DType::kS32, {2, 3, 4}}), expected = to;
    for (int64_t i = 0; i < 24; ++i) {
      const Dims at{i / 12, i / 4 % 3, i % 4};
      const Dims source{at[0] + start[0], at[1] + start[1], at[2] + start[2]};
      const bool inside = source[0] >= 0 && source[0] < 3 && source[1] >= 0 && source[1] < 4 &&
                          source[2] >= 0 && source[2] < 5;
      if (inside) {
        element(expected, at[0], at[1], at[2]) = element(from, source[0], source[1], source[2]);
      }
    }
    copy_overlap({{{0, 0, 0}, {3, 4, 5}}, from.bytes().data()},
                 {{start, {2, 3, 4}}, to.bytes().data()}, 4);
    ASSERT_TRUE(std::ranges::equal(to.bytes(), expected.bytes())) << dims_to_string(start);
  }
}

}  // namespace
}  // namespace tessera
