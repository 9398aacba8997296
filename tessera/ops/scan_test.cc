#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"

// What the forward loop keeps for the reverse one: memory that a run pays for with every layer.

namespace tessera {
namespace {

using ::testing::ElementsAre;

using Span = std::span<const Value>;

/// The stacks that the forward loop keeps beside its carry for the gradient of sum(carry).
std::vector<std::string> kept(const ScanBody& body, DType carry, Dims xs) {
  Graph graph;
  const std::vector<Value> inputs = {graph.parameter({carry, {2, 3}}),
                                     graph.parameter({DType::kF32, std::move(xs)})};
  const auto all = Span(inputs);
  const Value result = scan(body, all.first(1), all.subspan(1)).carry[0];
  gradients(sum(convert(result, DType::kF32)), inputs);
  std::vector<std::string> stacks;
  const Node& loop = graph.node(result.id().node);
  for (size_t i = 1; i < loop.shapes.size(); ++i) stacks.push_back(to_string(loop.shapes[i]));
  return stacks;
}

TEST(ScanResiduals, OfANarrowingConversionAreTheNarrowValues) {
  const ScanBody body = [](Span carry, Span slices) -> ScanStep {
    const Value narrow = convert(carry[0] + slices[0], DType::kBF16);
    return {.carry = {convert(narrow * narrow, DType::kF32)}, .ys = {}};
  };
  EXPECT_THAT(kept(body, DType::kF32, {4, 2, 3}), ElementsAre("bf16[4,2,3]"));
}

TEST(ScanResiduals, OfAWideningConversionAreTheNarrowValues) {
  const ScanBody body = [](Span carry, Span slices) -> ScanStep {
    const Value narrow = convert(carry[0] + slices[0], DType::kBF16);
    const Value wide = convert(narrow, DType::kF32);
    return {.carry = {wide * wide}, .ys = {}};
  };
  EXPECT_THAT(kept(body, DType::kF32, {4, 2, 3}), ElementsAre("bf16[4,2,3]"));
}

TEST(ScanResiduals, ThatAreWideAnywayGiveTheNarrowValues) {
  // tanh's own gradient needs its f32 result.
  const ScanBody body = [](Span carry, Span slices) -> ScanStep {
    const Value narrow = convert(tanh(carry[0] + slices[0]), DType::kBF16);
    return {.carry = {convert(narrow * narrow, DType::kF32)}, .ys = {}};
  };
  EXPECT_THAT(kept(body, DType::kF32, {4, 2, 3}), ElementsAre("f32[4,2,3]"));
}

TEST(ScanResiduals, HoldNoSecondStackOfTheXs) {
  // Weights in f32 that are used in bf16 are stacked already, as they came in.
  const ScanBody body = [](Span carry, Span slices) -> ScanStep {
    return {.carry = {matmul(carry[0], convert(slices[0], DType::kBF16))}, .ys = {}};
  };
  EXPECT_THAT(kept(body, DType::kBF16, {4, 3, 3}), ElementsAre("bf16[4,2,3]"));
}

}  // namespace
}  // namespace tessera
