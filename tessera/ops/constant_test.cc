#include "tessera/ops/constant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/trace_testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

TEST(Constants, AreCheckedAgainstTheirDtype) {
  Graph g;
  EXPECT_EQ(full(g, {DType::kBF16, {2, 3}}, 0.1).shape(), (Shape{DType::kBF16, {2, 3}}));
  EXPECT_EQ(iota(g, {DType::kS32, {2, 3}}, -1).dims(), (Dims{2, 3}));
  EXPECT_EQ(
      message_of([&] {
        full(g, {DType::kS8, {}}, 128);
      }),
      "[full] 128 is not a value of s8: use a whole number in its range, or a floating dtype");
  EXPECT_THAT(message_of([&] { full(g, {DType::kBool, {}}, 2); }), HasSubstr("a bool is 0 or 1"));
  EXPECT_THAT(message_of([&] {
                zeros(g, {DType::kF32, {-1}});
              }),
              HasSubstr("must not be negative"));
  EXPECT_THAT(message_of([&] { iota(g, {DType::kS32, {3}}, 1); }), HasSubstr("dim 1 is out of"));
  EXPECT_THAT(message_of([&] { iota(g, {DType::kBool, {3}}, 0); }), HasSubstr("bool cannot count"));
}

}  // namespace
}  // namespace tessera
