#include "tessera/ops/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/constant.h"
#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

class ShapeOps : public ::testing::Test {
 protected:
  Value f32(Dims dims) { return g_.parameter({DType::kF32, std::move(dims)}); }
  template <typename Fn>
  std::string error(Fn fn) {
    return message_of([&] { fn(); });
  }
  Graph g_;
};

TEST_F(ShapeOps, ReshapeComputesOneSize) {
  EXPECT_EQ(reshape(f32({4, 6}), {3, -1, 2}).dims(), (Dims{3, 4, 2}));
  EXPECT_EQ(reshape(f32({}), {-1}).dims(), Dims{1});
  EXPECT_EQ(reshape(f32({0, 3}), {0, 7}).dims(), (Dims{0, 7}));
  const Value x = f32({2, 3});
  EXPECT_TRUE(reshape(x, {2, 3}).same_as(x));
}

TEST_F(ShapeOps, ReshapeErrorsCountTheElements) {
  EXPECT_EQ(error([&] {
              reshape(f32({4, 6}), {5, 5});
            }),
            "[reshape] 24 elements do not fill [5,5], which has 25; operands f32[4,6]");
  EXPECT_THAT(error([&] { reshape(f32({4, 6}), {7, -1}); }), HasSubstr("no multiple of 7"));
  EXPECT_THAT(error([&] { reshape(f32({4}), {-1, -1}); }), HasSubstr("only one size may be -1"));
  EXPECT_THAT(error([&] { reshape(f32({4}), {-2}); }), HasSubstr("sizes must be at least 0"));
  EXPECT_THAT(error([&] { reshape(f32({0}), {0, -1}); }), HasSubstr("no multiple of 0"));
}

TEST_F(ShapeOps, TransposeTakesNegativeDims) {
  EXPECT_EQ(transpose(f32({2, 3, 5}), {-1, 0, 1}).dims(), (Dims{5, 2, 3}));
  EXPECT_EQ(transpose(f32({2, 3, 5})).dims(), (Dims{5, 3, 2}));
  EXPECT_EQ(swap_dims(f32({2, 3, 5}), 1, -1).dims(), (Dims{2, 5, 3}));
  EXPECT_THAT(error([&] {
                transpose(f32({2, 3}), {0});
              }),
              HasSubstr("[transpose] the permutation [0] must name each of the 2 dimensions once"));
  EXPECT_THAT(error([&] { transpose(f32({2, 3}), {0, 0}); }), HasSubstr("dim 0 is named twice"));
  EXPECT_THAT(error([&] {
                transpose(f32({2, 3}), {0, 2});
              }),
              HasSubstr("dim 2 is out of range: it must be in [-2, 1]"));
}

TEST_F(ShapeOps, BroadcastsMatchFromTheEnd) {
  EXPECT_EQ(broadcast_to(f32({3, 1}), {2, 3, 4}).dims(), (Dims{2, 3, 4}));
  EXPECT_EQ(broadcast_in_dim(f32({3}), {3, 4}, {0}).dims(), (Dims{3, 4}));
  EXPECT_THAT(error([&] { broadcast_to(f32({3}), {4}); }),
              HasSubstr("dim 0 has size 3, which does not broadcast to size 4 of [4]"));
  EXPECT_THAT(error([&] {
                broadcast_to(f32({1, 3}), {3});
              }),
              HasSubstr("[broadcast_to] the target [3] has fewer dimensions"));
  EXPECT_THAT(error([&] {
                broadcast_in_dim(f32({2, 3}), {3, 2}, {1, 0});
              }),
              HasSubstr("the mapping [1,0] must increase"));
  EXPECT_THAT(error([&] { broadcast_in_dim(f32({2}), {2}, {}); }), HasSubstr("must name"));
}

TEST_F(ShapeOps, SizesOfOneComeAndGo) {
  EXPECT_EQ(expand_dims(f32({2, 3}), -1).dims(), (Dims{2, 3, 1}));
  EXPECT_EQ(expand_dims(f32({2, 3}), 0).dims(), (Dims{1, 2, 3}));
  EXPECT_EQ(squeeze(f32({1, 3, 1}), {0, -1}).dims(), Dims{3});
  EXPECT_THAT(error([&] { squeeze(f32({1, 3}), 1); }), HasSubstr("dim 1 has size 3"));
  EXPECT_THAT(error([&] { expand_dims(f32({2}), 3); }), HasSubstr("must be in [-2, 1]"));
}

TEST_F(ShapeOps, SlicesStayWithin) {
  EXPECT_EQ(slice(f32({5, 7}), {1, 0}, {5, 7}, {2, 3}).dims(), (Dims{2, 3}));
  EXPECT_EQ(slice_in_dim(f32({5, 7}), -1, -3, -1).dims(), (Dims{5, 2}));
  EXPECT_THAT(error([&] { slice(f32({5}), {1}, {6}); }),
              HasSubstr("[slice] in dim 0 elements 1 to 6 do not lie within its size of 5"));
  EXPECT_THAT(error([&] { slice(f32({5}), {3}, {2}); }), HasSubstr("elements 3 to 2"));
  EXPECT_THAT(error([&] { slice(f32({5}), {0}, {2}, {0}); }), HasSubstr("stride of dim 0"));
  EXPECT_THAT(error([&] { slice(f32({5, 5}), {0}, {2}); }), HasSubstr("each of the 2 dimensions"));
}

TEST_F(ShapeOps, PaddingMayTakeAway) {
  const Value zero = scalar(g_, DType::kF32, 0);
  EXPECT_EQ(pad(f32({3, 4}), zero, {{1, 2, 0}, {-1, 0, 2}}).dims(), (Dims{6, 9}));
  EXPECT_EQ(pad(f32({0}), zero, {{1, 1, 5}}).dims(), Dims{2});
  EXPECT_THAT(error([&] {
                pad(f32({3}), zero, {{-2, -2, 0}});
              }),
              HasSubstr("[pad] padding of dim 0 by low -2 and high -2 leaves a size of -1"));
  EXPECT_THAT(error([&] { pad(f32({3}), zero, {{0, 0, -1}}); }), HasSubstr("interior padding"));
  EXPECT_THAT(error([&] { pad(f32({3}), zero, {}); }), HasSubstr("got 0"));
  EXPECT_THAT(error([&] {
                pad(f32({3}), f32({1}), {{0, 0, 0}});
              }),
              HasSubstr("the value must be a scalar of dtype f32, got f32[1]"));
}

TEST_F(ShapeOps, JoinsNeedEqualSizes) {
  EXPECT_EQ(concatenate({f32({2, 3}), f32({4, 3})}, 0).dims(), (Dims{6, 3}));
  EXPECT_EQ(stack({f32({2, 3}), f32({2, 3})}, -1).dims(), (Dims{2, 3, 2}));
  EXPECT_THAT(error([&] {
                concatenate({f32({2, 3}), f32({2, 4})}, 0);
              }),
              HasSubstr("[concatenate] operands must agree in dtype and in every size but that of "
                        "dim 0; operands f32[2,3], f32[2,4]"));
  EXPECT_THAT(error([&] {
                concatenate({f32({2}), g_.parameter({DType::kF64, {2}})}, 0);
              }),
              HasSubstr("must agree in dtype"));
  EXPECT_THAT(error([&] {
                stack({f32({2}), f32({3})});
              }),
              HasSubstr("all values need the shape of the first, f32[2]"));
  EXPECT_THAT(error([&] { concatenate(std::span<const Value>(), 0); }), HasSubstr("at least one"));
}

TEST_F(ShapeOps, SplitsCoverTheDimension) {
  const std::vector<Value> parts = split(f32({2, 6}), Dims{1, 5}, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].dims(), (Dims{2, 5}));
  EXPECT_EQ(split(f32({6}), 3, 0)[2].dims(), Dims{2});
  EXPECT_THAT(error([&] { split(f32({6}), 4, 0); }), HasSubstr("cannot be cut into 4 equal parts"));
  EXPECT_THAT(error([&] {
                split(f32({6}), Dims{4, 4}, 0);
              }),
              HasSubstr("sizes [4,4] must add up to 6"));
}

}  // namespace
}  // namespace tessera
