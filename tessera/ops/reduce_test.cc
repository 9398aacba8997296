#include "tessera/ops/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

class Reductions : public ::testing::Test {
 protected:
  Value f32(Dims dims) { return g_.parameter({DType::kF32, std::move(dims)}); }
  Value s32(Dims dims) { return g_.parameter({DType::kS32, std::move(dims)}); }
  Graph g_;
};

TEST_F(Reductions, RemoveOrKeepTheirDims) {
  EXPECT_EQ(sum(f32({2, 3, 5}), {0, -1}).dims(), Dims{3});
  EXPECT_EQ(sum(f32({2, 3, 5}), {-1, 0}, /*keepdims=*/true).dims(), (Dims{1, 3, 1}));
  EXPECT_EQ(max(f32({2, 3})).dims(), Dims{});
  EXPECT_EQ(prod(f32({2, 3}), {}).dims(), (Dims{2, 3}));
  EXPECT_EQ(mean(f32({2, 3}), 1, true).dims(), (Dims{2, 1}));
  EXPECT_EQ(logsumexp(f32({2, 3}), 1).dims(), Dims{2});
}

TEST_F(Reductions, OfAnIndexHaveItsDtype) {
  EXPECT_EQ(argmax(f32({2, 3}), -1).shape(), (Shape{DType::kS32, {2}}));
  EXPECT_EQ(argmin(f32({2, 3}), 0, true, DType::kU8).shape(), (Shape{DType::kU8, {1, 3}}));
  EXPECT_THAT(message_of([&] {
                argmax(f32({2, 129}), 1, false, DType::kS8);
              }),
              HasSubstr("dtype s8 cannot count the 129 elements of dim 1"));
  EXPECT_EQ(argmax(f32({2, 128}), 1, false, DType::kS8).dims(), Dims{2});
  EXPECT_THAT(message_of([&] { argmax(f32({2}), 0, false, DType::kF32); }),
              HasSubstr("the index dtype must be an integer, got f32"));
}

TEST_F(Reductions, WrongDimsAreErrors) {
  EXPECT_THAT(message_of([&] {
                sum(f32({2, 3}), 2);
              }),
              HasSubstr("[sum] dim 2 is out of range: it must be in [-2, 1]; operand f32[2,3]"));
  EXPECT_THAT(message_of([&] { sum(f32({2, 3}), {1, -1}); }), HasSubstr("dim -1 is named twice"));
  EXPECT_THAT(message_of([&] { sum(f32({}), 0); }), HasSubstr("a scalar has no dimensions"));
  EXPECT_THAT(message_of([&] { softmax(f32({2}), 1); }), HasSubstr("[softmax] dim 1"));
  EXPECT_THAT(message_of([&] { sum(Value()); }), HasSubstr("an operand is undefined"));
}

TEST_F(Reductions, WrongDtypesAreErrors) {
  EXPECT_THAT(message_of([&] { mean(s32({2})); }),
              HasSubstr("[mean] needs a floating dtype, got s32"));
  EXPECT_THAT(message_of([&] { softmax(s32({2})); }), HasSubstr("needs a floating dtype"));
  EXPECT_THAT(message_of([&] { logsumexp(s32({2})); }), HasSubstr("[logsumexp] needs a floating"));
  EXPECT_THAT(message_of([&] { all(s32({2})); }), HasSubstr("[all] needs bool, got s32"));
  EXPECT_THAT(message_of([&] { reduce_or(f32({2})); }), HasSubstr("needs bool or an integer"));
  EXPECT_THAT(message_of([&] {
                sum(g_.parameter({DType::kBool, {2}}));
              }),
              HasSubstr("[sum] needs a floating or integer dtype, got bool"));
}

TEST_F(Reductions, NothingHasNoExtreme) {
  EXPECT_THAT(message_of([&] { max(f32({2, 0}), 1); }), HasSubstr("[max] dim 1 is empty"));
  EXPECT_THAT(message_of([&] { argmin(f32({0}), 0); }), HasSubstr("dim 0 is empty"));
  EXPECT_EQ(max(f32({2, 0}), 0).dims(), Dims{0});
}

}  // namespace
}  // namespace tessera
