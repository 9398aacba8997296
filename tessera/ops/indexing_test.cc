#include "tessera/ops/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

Shape f32(Dims dims) { return {DType::kF32, std::move(dims)}; }
Shape s32(Dims dims) { return {DType::kS32, std::move(dims)}; }

class IndexingTest : public ::testing::Test {
 protected:
  Value x(Dims dims) { return g.parameter(f32(std::move(dims))); }
  Value i(Dims dims) { return g.parameter(s32(std::move(dims))); }
  Graph g;
};

TEST_F(IndexingTest, TakePutsTheIndicesDimsWhereTheDimWas) {
  EXPECT_EQ(take(x({100, 16}), i({4, 8})).dims(), (Dims{4, 8, 16}));
  EXPECT_EQ(take(x({2, 100, 16}), i({4, 8}), 1).dims(), (Dims{2, 4, 8, 16}));
  EXPECT_EQ(take(x({2, 100}), i({}), -1).dims(), (Dims{2}));
  EXPECT_EQ(take(x({5}), i({0})).dims(), (Dims{0}));
}

TEST_F(IndexingTest, TakeRefusesWhatCannotBeAnIndex) {
  EXPECT_THAT(message_of([&] { take(x({5}), x({2})); }),
              HasSubstr("[take] indices must be integers, got f32[2]"));
  EXPECT_THAT(message_of([&] { take(x({5}), i({2}), 1); }), HasSubstr("[take] dim 1"));
  EXPECT_THAT(message_of([&] { take(x({0}), i({2})); }), HasSubstr("window is 1 in dim 0"));
}

TEST_F(IndexingTest, TakeAlongDimKeepsTheOtherDims) {
  EXPECT_EQ(take_along_dim(x({2, 3, 9}), i({2, 3, 4}), -1).dims(), (Dims{2, 3, 4}));
  EXPECT_EQ(take_along_dim(x({9, 3}), i({4, 3}), 0).dims(), (Dims{4, 3}));
  EXPECT_THAT(message_of([&] {
                take_along_dim(x({2, 9}), i({3, 4}), 1);
              }),
              HasSubstr("[take_along_dim] indices s32[3,4] must have the operand's rank and, "
                        "except in dim 1, its sizes; operand f32[2,9]"));
}

TEST_F(IndexingTest, ScatterAddWantsUpdatesAsTakeGivesThem) {
  EXPECT_EQ(scatter_add(x({100, 16}), i({4, 8}), x({4, 8, 16})).dims(), (Dims{100, 16}));
  EXPECT_THAT(message_of([&] {
                scatter_add(x({100, 16}), i({4, 8}), x({4, 16}));
              }),
              HasSubstr("updates are f32[4,16], must be f32[4,8,16]"));
  EXPECT_EQ(scatter_add_along_dim(x({2, 9}), i({2, 4}), x({2, 4}), 1).dims(), (Dims{2, 9}));
  const Value flags = g.parameter({DType::kBool, {4}});
  EXPECT_THAT(message_of([&] { scatter_add(flags, i({2}), flags); }), HasSubstr("cannot add bool"));
}

TEST_F(IndexingTest, DynamicSlicesCheckStartsAndSizes) {
  const Value start = i({});
  EXPECT_EQ(dynamic_slice_in_dim(x({5, 7}), start, 3, -1).dims(), (Dims{5, 3}));
  EXPECT_EQ(dynamic_index(x({5, 7}), start).dims(), (Dims{7}));
  EXPECT_EQ(dynamic_update_slice_in_dim(x({5, 7}), x({2, 7}), start, 0).dims(), (Dims{5, 7}));
  EXPECT_THAT(message_of([&] { dynamic_slice_in_dim(x({5}), start, 6, 0); }),
              HasSubstr("size 6 of dim 0 must be in [0, 5]"));
  EXPECT_THAT(message_of([&] {
                dynamic_slice(x({5, 7}), std::vector<Value>{start}, std::vector<int64_t>{1, 1});
              }),
              HasSubstr("got 1 starts for rank 2"));
  EXPECT_THAT(message_of([&] { dynamic_index(x({5}), i({1})); }),
              HasSubstr("the index must be an integer scalar, got s32[1]"));
  EXPECT_THAT(message_of([&] { dynamic_update_slice_in_dim(x({5}), x({6}), start, 0); }),
              HasSubstr("the update is 6 in dim 0, more than the operand's 5"));
  EXPECT_THAT(message_of([&] { dynamic_update_slice_in_dim(x({5}), i({2}), start, 0); }),
              HasSubstr("the update's dtype"));
}

TEST_F(IndexingTest, OneHotAddsTheClassesAsLastDim) {
  EXPECT_EQ(one_hot(i({2, 3}), 10, DType::kBF16).shape(), (Shape{DType::kBF16, {2, 3, 10}}));
  EXPECT_THAT(message_of([&] { one_hot(x({2}), 10); }), HasSubstr("indices must be integers"));
}

}  // namespace
}  // namespace tessera
