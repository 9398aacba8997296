#include "tessera/ops/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/shape.h"
#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using testing::count;
using ::testing::HasSubstr;
using testing::message_of;

Shape f32(Dims dims) { return {DType::kF32, std::move(dims)}; }
Shape bf16(Dims dims) { return {DType::kBF16, std::move(dims)}; }

TEST(DotGeneral, OrdersBatchThenLeftThenRight) {
  Graph g;
  const Value lhs = g.parameter(f32({5, 2, 3, 7}));
  const Value rhs = g.parameter(f32({7, 11, 5}));
  const Value y = dot_general(
      lhs, rhs, {.lhs_batch = {0}, .rhs_batch = {-1}, .lhs_contract = {-1}, .rhs_contract = {0}});
  EXPECT_EQ(y.shape(), f32({5, 2, 3, 11}));
}

TEST(DotGeneral, ResultDtypeIsTheOperandsUnlessAsked) {
  Graph g;
  const Value x = g.parameter(bf16({2, 3}));
  const DotDims dims{.lhs_contract = {1}, .rhs_contract = {1}};
  EXPECT_EQ(dot_general(x, x, dims).dtype(), DType::kBF16);
  EXPECT_EQ(dot_general(x, x, dims, {.dtype = DType::kF32}).dtype(), DType::kF32);
}

TEST(DotGeneral, ErrorsSayWhatWasGotAndRequired) {
  Graph g;
  const Value x = g.parameter(f32({2, 3}));
  const Value y = g.parameter(f32({4, 3}));
  const Value half = g.parameter(bf16({3}));
  EXPECT_EQ(message_of([&] { dot_general(x, y, {.lhs_contract = {1}, .rhs_contract = {0}}); }),
            "[dot_general] contracting sizes differ: lhs dim 1 is 3, rhs dim 0 is 4; operands "
            "f32[2,3], f32[4,3]");
  EXPECT_THAT(message_of([&] { dot_general(x, y, {.lhs_batch = {0}, .rhs_batch = {0}}); }),
              HasSubstr("batch sizes differ: lhs dim 0 is 2, rhs dim 0 is 4"));
  EXPECT_THAT(message_of([&] { dot_general(x, y, {.lhs_contract = {1}}); }),
              HasSubstr("1 contracting dims of lhs and 0 of rhs"));
  EXPECT_THAT(message_of([&] { dot_general(x, y, {.lhs_contract = {2}, .rhs_contract = {0}}); }),
              HasSubstr("dims 2 of lhs and 0 of rhs: ranks are 2 and 2"));
  EXPECT_THAT(message_of([&] {
                dot_general(
                    x, x,
                    {.lhs_batch = {1}, .rhs_batch = {1}, .lhs_contract = {1}, .rhs_contract = {1}});
              }),
              HasSubstr("dim 1 of lhs is named twice"));
  EXPECT_THAT(message_of([&] { dot_general(x, half, {.lhs_contract = {1}, .rhs_contract = {0}}); }),
              HasSubstr("lhs is f32, rhs is bf16; convert one"));
  EXPECT_THAT(message_of([&] {
                dot_general(x, x, {.lhs_contract = {1}, .rhs_contract = {1}},
                            {.dtype = DType::kS32});
              }),
              HasSubstr("a result in s32 of operands in f32"));
}

TEST(Matmul, FollowsNumPy) {
  struct Case {
    Dims x, w, result;
  };
  const Case cases[] = {
      {{3}, {3}, {}},
      {{3}, {3, 4}, {4}},
      {{2, 3}, {3}, {2}},
      {{2, 3}, {3, 4}, {2, 4}},
      {{5, 2, 3}, {3, 4}, {5, 2, 4}},
      {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}},
      {{2, 3}, {5, 3, 4}, {5, 2, 4}},
      {{3}, {5, 3, 4}, {5, 4}},
      {{5, 2, 3}, {3}, {5, 2}},
      {{6, 1, 2, 3}, {5, 3, 4}, {6, 5, 2, 4}},
      {{1, 2, 3}, {1, 3, 4}, {1, 2, 4}},
      {{6, 1, 2, 3}, {1, 5, 3, 4}, {6, 5, 2, 4}},
  };
  for (const Case& c : cases) {
    Graph g;
    EXPECT_EQ(matmul(g.parameter(f32(c.x)), g.parameter(f32(c.w))).dims(), c.result)
        << dims_to_string(c.x) << " @ " << dims_to_string(c.w);
    EXPECT_EQ(count(g, kDotGeneral), 1);
  }
}

TEST(Matmul, WithAMatrixIsOneDotGeneralAndNothingElse) {
  Graph g;
  matmul(g.parameter(f32({8, 16, 32})), g.parameter(f32({32, 64})));
  EXPECT_EQ(g.size(), 3);
}

TEST(Matmul, ErrorNamesBothSizesAndTheScope) {
  Graph g;
  const Value x = g.parameter(f32({8, 256, 512}));
  const Value w = g.parameter(f32({256, 512}));
  const auto layers = g.scope("layers");
  const auto mlp = g.scope("mlp.up");
  EXPECT_EQ(message_of([&] { matmul(x, w); }),
            "[matmul] contracting sizes differ: x f32[8,256,512] dim 2 is 512, w f32[256,512] dim "
            "0 is 256 (layers.mlp.up)");
}

TEST(Matmul, RefusesScalarsAndLeadingDimsThatDoNotBroadcast) {
  Graph g;
  const Value x = g.parameter(f32({2, 3, 4}));
  EXPECT_THAT(message_of([&] { matmul(x, g.parameter(f32({}))); }), HasSubstr("multiply with *"));
  EXPECT_THAT(message_of([&] {
                matmul(x, g.parameter(f32({5, 4, 6})));
              }),
              HasSubstr("leading dims of x f32[2,3,4] and w f32[5,4,6]: shapes [2] and [5]"));
}

// The step of an MLP's weight: its gradient needs no transpose in either operand.
TEST(Matmul, GradientsOfAMatrixProductNeedNoMoreThanTwoDots) {
  Graph g;
  const Value x = g.parameter(f32({8, 16, 32}));
  const Value w = g.parameter(f32({32, 64}));
  const Value y = matmul(x, w);
  const Value ct = g.parameter(y.shape());
  Vjp vjp(g, y.id().node, {ct}, {true, true});
  kDotGeneral.vjp(vjp);
  EXPECT_EQ(vjp.grads()[0].shape(), x.shape());
  EXPECT_EQ(vjp.grads()[1].shape(), w.shape());
  EXPECT_EQ(count(g, kDotGeneral), 3);
  EXPECT_EQ(count(g, kTranspose), 0);
}

}  // namespace
}  // namespace tessera
