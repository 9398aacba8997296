#include "tessera/ops/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

Value f32(Graph& g, Dims dims) { return g.parameter({DType::kF32, std::move(dims)}); }
Value of(Graph& g, DType dtype) { return g.parameter({dtype, {2}}); }

TEST(Elementwise, BinaryOpsBroadcastAsNumPyDoes) {
  Graph g;
  EXPECT_EQ((f32(g, {8, 1, 3}) + f32(g, {4, 1})).dims(), (Dims{8, 4, 3}));
  EXPECT_EQ((f32(g, {}) * f32(g, {2})).dims(), Dims{2});
  EXPECT_EQ(select(of(g, DType::kBool), f32(g, {3, 1}), f32(g, {})).dims(), (Dims{3, 2}));
  EXPECT_EQ(clamp(f32(g, {2, 3}), f32(g, {}), f32(g, {3})).dims(), (Dims{2, 3}));
}

TEST(Elementwise, EqualShapesNeedNoBroadcast) {
  Graph g;
  const Value a = f32(g, {2, 3});
  const int32_t before = g.size();
  EXPECT_TRUE((a + a).defined());
  EXPECT_EQ(g.size(), before + 1);
}

TEST(Elementwise, ShapesThatDoNotBroadcastAreShown) {
  Graph g;
  const auto scope = g.scope("layers.mlp");
  EXPECT_EQ(message_of([&] {
              f32(g, {2, 3}) + f32(g, {4});
            }),
            "[add] shapes [2,3] and [4] do not broadcast: sizes 3 and 4 meet; operands f32[2,3], "
            "f32[4] (layers.mlp)");
}

TEST(Elementwise, MixedDtypesSayHowToConvert) {
  Graph g;
  EXPECT_EQ(message_of([&] { of(g, DType::kF32) * of(g, DType::kBF16); }),
            "[multiply] dtypes f32 and bf16 are mixed: convert one with convert(x, DType::kF32); "
            "operands f32[2], bf16[2]");
  EXPECT_THAT(message_of([&] { less(of(g, DType::kS64), of(g, DType::kF16)); }),
              HasSubstr("convert(x, DType::kF16)"));
  EXPECT_THAT(
      message_of([&] { select(of(g, DType::kBool), of(g, DType::kF8E4M3FN), of(g, DType::kF32)); }),
      HasSubstr("dtypes f8e4m3fn and f32 are mixed"));
}

TEST(Elementwise, NumbersTakeTheDtypeOfTheirNeighbour) {
  Graph g;
  EXPECT_EQ((of(g, DType::kBF16) + 1.5).dtype(), DType::kBF16);
  EXPECT_EQ((2 * of(g, DType::kS32)).dtype(), DType::kS32);
  EXPECT_THAT(message_of([&] { of(g, DType::kS32) * 0.5; }),
              HasSubstr("0.5 is not a value of s32"));
  EXPECT_THAT(message_of([&] { of(g, DType::kU8) + 256; }), HasSubstr("256 is not a value of u8"));
  EXPECT_THAT(message_of([&] { of(g, DType::kU8) + -1; }), HasSubstr("-1 is not a value of u8"));
}

TEST(Elementwise, WrongDtypesSayWhatIsNeeded) {
  Graph g;
  EXPECT_THAT(message_of([&] { exp(of(g, DType::kS32)); }),
              HasSubstr("[exp] needs a floating dtype, got s32: convert it with convert(x, "
                        "DType::kF32)"));
  EXPECT_THAT(message_of([&] { of(g, DType::kBool) + of(g, DType::kBool); }),
              HasSubstr("[add] needs a floating or integer dtype, got bool"));
  EXPECT_THAT(message_of([&] { bitwise_and(of(g, DType::kF32), of(g, DType::kF32)); }),
              HasSubstr("[and] needs bool or an integer dtype, got f32"));
  EXPECT_THAT(message_of([&] { shift_left(of(g, DType::kBool), of(g, DType::kBool)); }),
              HasSubstr("needs an integer dtype, got bool"));
  EXPECT_THAT(message_of([&] { abs(of(g, DType::kU8)); }),
              HasSubstr("needs a floating or signed integer dtype, got u8"));
  EXPECT_THAT(message_of([&] { logical_and(of(g, DType::kS32), of(g, DType::kS32)); }),
              HasSubstr("[logical_and] needs bool, got s32: use bitwise_and"));
  EXPECT_THAT(message_of([&] { logical_not(of(g, DType::kS32)); }), HasSubstr("needs bool"));
  EXPECT_THAT(message_of([&] { select(of(g, DType::kS32), f32(g, {2}), f32(g, {2})); }),
              HasSubstr("[select] the condition must be bool, got s32: compare it"));
}

TEST(Elementwise, UndefinedOperandsAreErrors) {
  Graph g;
  EXPECT_THAT(message_of([&] { Value() + f32(g, {2}); }), HasSubstr("an operand is undefined"));
  EXPECT_THAT(message_of([&] { f32(g, {2}) * Value(); }), HasSubstr("an operand is undefined"));
  EXPECT_THAT(message_of([&] { exp(Value()); }), HasSubstr("an operand is undefined"));
  EXPECT_THAT(message_of([&] { Value() * 2; }), HasSubstr("an operand is undefined"));
}

TEST(Convert, ReturnsWhatHasTheDtypeAlready) {
  Graph g;
  const Value x = f32(g, {2});
  EXPECT_TRUE(convert(x, DType::kF32).same_as(x));
  EXPECT_EQ(convert(x, DType::kBool).shape(), (Shape{DType::kBool, {2}}));
}

TEST(Bitcast, FollowsTheWidths) {
  Graph g;
  EXPECT_EQ(bitcast(f32(g, {3}), DType::kU8).shape(), (Shape{DType::kU8, {3, 4}}));
  EXPECT_EQ(bitcast(f32(g, {3}), DType::kU32).shape(), (Shape{DType::kU32, {3}}));
  EXPECT_EQ(bitcast(g.parameter({DType::kS8, {3, 2}}), DType::kBF16).shape(),
            (Shape{DType::kBF16, {3}}));
  EXPECT_EQ(bitcast(f32(g, {}), DType::kU4).dims(), Dims{8});
  EXPECT_THAT(message_of([&] {
                bitcast(g.parameter({DType::kU8, {3}}), DType::kF32);
              }),
              HasSubstr("[bitcast] to f32 the last dimension must have size 4"));
  EXPECT_THAT(message_of([&] { bitcast(f32(g, {}), DType::kF64); }), HasSubstr("size 2"));
  EXPECT_THAT(message_of([&] { bitcast(f32(g, {3}), DType::kBool); }), HasSubstr("bool has no"));
}

TEST(Pow, UsesCheaperOpsForUsualExponents) {
  Graph g;
  const Value x = f32(g, {2});
  EXPECT_TRUE(pow(x, 1).same_as(x));
  EXPECT_EQ(g.node(pow(x, 2).id().node).op, &kMultiply);
  EXPECT_EQ(g.node(pow(x, -0.5).id().node).op, &kRsqrt);
  EXPECT_EQ(g.node(pow(x, 3).id().node).op, &kPow);
}

}  // namespace
}  // namespace tessera
