// Shapes and errors of sorting and of random numbers; their values are tested where a plugin runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/random.h"
#include "tessera/ops/sort.h"
#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

Shape f32(Dims dims) { return {DType::kF32, std::move(dims)}; }

TEST(Sort, KeepsShapesAndGivesIndices) {
  Graph g;
  const Value x = g.parameter(f32({2, 3}));
  EXPECT_EQ(sort(x).shape(), x.shape());
  EXPECT_EQ(argsort(x, {.dim = 0}).shape(), (Shape{DType::kS32, {2, 3}}));
  const TopK top = top_k(x, 2);
  EXPECT_EQ(top.values.shape(), f32({2, 2}));
  EXPECT_EQ(top.indices.shape(), (Shape{DType::kS32, {2, 2}}));
}

TEST(Sort, ErrorsSayWhatWasGotAndRequired) {
  Graph g;
  const Value x = g.parameter(f32({2, 3}));
  const Value y = g.parameter(f32({2, 4}));
  EXPECT_THAT(message_of([&] {
                sort({x, y});
              }),
              HasSubstr("[sort] operands must have one shape; operands f32[2,3], f32[2,4]"));
  EXPECT_THAT(message_of([&] {
                sort({x, x}, {.num_keys = 3});
              }),
              HasSubstr("num_keys is 3, must be in [1, 2]"));
  EXPECT_THAT(message_of([&] { sort(x, {.dim = 2}); }), HasSubstr("[sort] dim 2 is out of range"));
  EXPECT_THAT(message_of([&] { top_k(x, 4); }),
              HasSubstr("[top_k] k is 4, must be in [0, 3], the size of the last dim"));
  EXPECT_THAT(message_of([&] { top_k(g.parameter(f32({})), 1); }), HasSubstr("no last dim"));
}

TEST(Random, GivesTheShapeAskedFor) {
  Graph g;
  const Value key = random_key(g, 7);
  const Shape shape = f32({4, 5});
  EXPECT_EQ(key.shape(), (Shape{DType::kU32, {2}}));
  EXPECT_EQ(split(key, 3).size(), 3u);
  EXPECT_EQ(split(key, 3)[2].shape(), key.shape());
  EXPECT_EQ(fold_in(key, 3).shape(), key.shape());
  EXPECT_EQ(random_bits(key, shape.dims, DType::kU8).shape(), shape.with_dtype(DType::kU8));
  EXPECT_EQ(uniform(key, shape, -1, 1).shape(), shape);
  EXPECT_EQ(normal(key, shape.with_dtype(DType::kBF16)).shape(), shape.with_dtype(DType::kBF16));
  EXPECT_EQ(truncated_normal(key, f32({})).shape(), f32({}));
  EXPECT_EQ(bernoulli(key, 0.5, shape.dims).shape(), shape.with_dtype(DType::kBool));
  EXPECT_EQ(randint(key, shape.with_dtype(DType::kS64), 0, 9).shape(),
            shape.with_dtype(DType::kS64));
  EXPECT_EQ(categorical(key, g.parameter(f32({2, 9}))).shape(), (Shape{DType::kS32, {2}}));
}

// The number of an element needs more than a word then, and the first word must not stay zero.
TEST(Random, CountsWith64BitsWhereAnArrayHasMoreThan2To32Elements) {
  const auto wide_nodes = [](Dims dims) {
    Graph g;
    random_bits(random_key(g, 7), dims);
    int wide = 0;
    for (int32_t i = 0; i < g.size(); ++i) wide += g.node(i).shapes[0].dtype == DType::kU64;
    return wide;
  };
  EXPECT_EQ(wide_nodes({1 << 20, 1 << 12}), 0);
  EXPECT_GT(wide_nodes({1 << 20, (1 << 12) + 1}), 0);
}

TEST(Random, ErrorsSayWhatWasGotAndRequired) {
  Graph g;
  const Value key = random_key(g, 7);
  const Dims dims = {4};
  const Value wrong = g.parameter({DType::kU32, {4}});
  EXPECT_THAT(message_of([&] { random_bits(wrong, dims); }),
              HasSubstr("[random_bits] a key is u32[2]: random_key() makes one from a seed; "
                        "operand u32[4]"));
  EXPECT_THAT(message_of([&] { random_bits(key, dims, DType::kS32); }),
              HasSubstr("dtype is s32, must be u8, u16, u32 or u64"));
  EXPECT_THAT(message_of([&] {
                uniform(key, {DType::kS32, dims});
              }),
              HasSubstr("dtype is s32, must be f64, f32, f16 or bf16"));
  EXPECT_THAT(message_of([&] { uniform(key, f32(dims), 2, 1); }),
              HasSubstr("[2, 1) is no interval in f32"));
  EXPECT_THAT(message_of([&] {
                normal(key, {DType::kS32, dims});
              }),
              HasSubstr("must be a float's"));
  EXPECT_THAT(message_of([&] { bernoulli(key, 1.5, dims); }), HasSubstr("p is 1.5"));
  EXPECT_THAT(message_of([&] { randint(key, {DType::kS32, dims}, 3, 3); }), HasSubstr("is empty"));
  EXPECT_THAT(message_of([&] { randint(key, {DType::kU32, dims}, -1, 3); }), HasSubstr("[-1, 3)"));
  EXPECT_THAT(message_of([&] { randint(key, f32(dims), 0, 3); }), HasSubstr("must be s32"));
  EXPECT_THAT(message_of([&] { split(key, 0); }), HasSubstr("0 keys"));
  EXPECT_THAT(message_of([&] { fold_in(key, wrong); }), HasSubstr("must be an integer scalar"));
}

}  // namespace
}  // namespace tessera
