// Gradients where mathematics leaves a choice: ties, kinks, bounds. The table stands in
// tessera/ops/README.md.
#include <gtest/gtest.h>

#include <cmath>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Numbers = std::vector<double>;
using Parameters = std::span<const Value>;

HostArray f64(const Numbers& values) {
  return HostArray::from<double>(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

// The gradients of the sum of what `fn` gives, one list for each input.
std::vector<Numbers> slopes(const std::function<Value(Parameters)>& fn,
                            const std::vector<HostArray>& inputs) {
  const auto outputs = evaluate(
      [&](Graph&, Parameters p) { return gradients(sum(convert(fn(p), DType::kF64)), p); }, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<Numbers> result;
  if (outputs.ok()) {
    for (const HostArray& output : *outputs) result.push_back(to_doubles(output));
  }
  return result;
}

std::vector<Numbers> slopes(Value (*fn)(Value), const Numbers& x) {
  return slopes([fn](Parameters p) { return fn(p[0]); }, {f64(x)});
}

class Conventions : public ::testing::Test {
 protected:
  void SetUp() override { TESSERA_SKIP_WITHOUT_PLUGIN(); }
};

TEST_F(Conventions, KinksAtZeroHaveSlopeZero) {
  EXPECT_EQ(slopes(abs, {-2, 0, 2}), (std::vector<Numbers>{{-1, 0, 1}}));
  EXPECT_EQ(slopes(relu, {-2, 0, 2}), (std::vector<Numbers>{{0, 0, 1}}));
  EXPECT_EQ(slopes(sign, {-2, 0, 2}), (std::vector<Numbers>{{0, 0, 0}}));
}

TEST_F(Conventions, SoftplusAtItsKinkHasTheSlopeOfTheCurve) {
  EXPECT_EQ(slopes(softplus, {0}), (std::vector<Numbers>{{0.5}}));
}

TEST_F(Conventions, EqualOperandsShareTheCotangent) {
  const std::vector<HostArray> inputs = {f64({1, 2, 3}), f64({3, 2, 1})};
  EXPECT_EQ(slopes([](Parameters p) { return maximum(p[0], p[1]); }, inputs),
            (std::vector<Numbers>{{0, 0.5, 1}, {1, 0.5, 0}}));
  EXPECT_EQ(slopes([](Parameters p) { return minimum(p[0], p[1]); }, inputs),
            (std::vector<Numbers>{{1, 0.5, 0}, {0, 0.5, 1}}));
}

TEST_F(Conventions, ElementsThatReachTheExtremeShareTheCotangent) {
  EXPECT_EQ(slopes([](Parameters p) { return max(p[0]); }, {f64({1, 4, 4, 0, 4, 4})}),
            (std::vector<Numbers>{{0, 0.25, 0.25, 0, 0.25, 0.25}}));
  EXPECT_EQ(slopes([](Parameters p) { return min(p[0]); }, {f64({1, 0, 4, 0})}),
            (std::vector<Numbers>{{0, 0.5, 0, 0.5}}));
}

TEST_F(Conventions, ClampPassesTheCotangentStrictlyInside) {
  const std::vector<HostArray> inputs = {f64({-2, -1, 0, 1, 2}), f64({-1}), f64({1})};
  EXPECT_EQ(slopes([](Parameters p) { return clamp(p[0], p[1], p[2]); }, inputs),
            (std::vector<Numbers>{{0, 0, 1, 0, 0}, {1}, {1}}));
}

TEST_F(Conventions, PowersOfZeroHaveFiniteSlopes) {
  const std::vector<HostArray> inputs = {f64({0, 0, 0, 2}), f64({0, 1, 2, 0})};
  EXPECT_EQ(slopes([](Parameters p) { return pow(p[0], p[1]); }, inputs),
            (std::vector<Numbers>{{0, 1, 0, 0}, {0, 0, 0, std::log(2.0)}}));
}

TEST_F(Conventions, NarrowTypesGetCotangentsOfTheirDtype) {
  // Each bf16 element gets what was rounded once, not a running sum of 300 ones, which stops at
  // 256.
  const HostArray ones = from_doubles({DType::kBF16, {1}}, Numbers{1});
  const auto broadcast = [](Parameters p) {
    return p[0] + full(p[0].graph(), {DType::kBF16, {300}}, 0);
  };
  EXPECT_EQ(slopes(broadcast, {ones}), (std::vector<Numbers>{{300}}));
}

}  // namespace
}  // namespace tessera::op_testing
