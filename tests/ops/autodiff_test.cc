#include "tessera/ops/autodiff.h"

#include <gmock/gmock.h>

#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using ::testing::HasSubstr;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

// fn's outputs at scalars x = 3, y = 5.
std::vector<double> at_3_5(const BodyFn& fn) {
  const double three = 3, five = 5;
  const std::vector<HostArray> inputs = {from_doubles({DType::kF64, {}}, std::span(&three, 1)),
                                         from_doubles({DType::kF64, {}}, std::span(&five, 1))};
  const Result<std::vector<HostArray>> outputs = evaluate(fn, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> values;
  if (!outputs.ok()) return values;
  for (const HostArray& output : *outputs) values.push_back(to_doubles(output)[0]);
  return values;
}

Status error_of(const BodyFn& fn) {
  const std::vector<HostArray> inputs = {random_f64({2, 3}), random_f64({2, 3})};
  return trace_like(fn, inputs).status();
}

TEST(Gradients, StopAtEveryX) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // z = x y is an x too: what reaches z goes no further, so x gets only its direct part.
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Value z = p[0] * p[1];
    const Values xs = {p[0], z};
    return gradients(z * z * p[0], xs);
  });
  EXPECT_EQ(values, (std::vector<double>{225, 2 * 15 * 3}));
}

TEST(Gradients, OfAnXItselfIsTheCotangent) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Values ys = {p[0], p[0] * p[1]}, cotangents = {p[1], p[0]};
    return gradients(ys, cotangents, p);
  });
  EXPECT_EQ(values, (std::vector<double>{5 + 3 * 5, 9}));
}

TEST(Gradients, AddUpOverUsesAndRepeatedXs) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Values xs = {p[0], p[0]};
    Values grads = gradients(p[0] * p[0] * p[0] + p[0], xs);
    return grads;
  });
  EXPECT_EQ(values, (std::vector<double>{28, 28}));
}

TEST(Gradients, AreZeroWhereNothingDependsOnAnX) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Value through_integers = convert(convert(p[0] * 2.0, DType::kS32), DType::kF64);
    const Value through_bools = convert(greater(p[0], 1.0), DType::kF64);
    const Value y = p[1] * (through_integers + through_bools + floor(p[0]) + stop_gradient(p[0]));
    return gradients(y, p);
  });
  EXPECT_EQ(values, (std::vector<double>{0, 6 + 1 + 3 + 3}));
}

TEST(Gradients, OfAConstantAreZero) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5(
      [](Graph& g, Parameters p) -> Values { return gradients(scalar(g, DType::kF64, 2), p); });
  EXPECT_EQ(values, (std::vector<double>{0, 0}));
}

TEST(Gradients, CanBeTakenOfGradients) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Value y = p[0] * p[0] * p[0] * p[0];
    const Value first = gradients(y, p.first(1))[0];
    const Value second = gradients(first, p.first(1))[0];
    return {first, second, gradients(second, p.first(1))[0]};
  });
  EXPECT_EQ(values, (std::vector<double>{108, 108, 72}));
}

TEST(Gradients, OfOneLoopCanBeTakenAgainAndAgain) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // x (x + y)³ by a loop, its gradients by each of x and y apart, and one of a gradient.
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const ScanBody body = [&](Parameters c, Parameters) -> ScanStep {
      return {.carry = {c[0] * (p[0] + p[1])}, .ys = {}};
    };
    const Value y = scan(body, p.first(1), {}, {.length = 3}).carry[0];
    const Value by_x = gradients(y, p.first(1))[0];
    const Value by_y = gradients(y, p.subspan(1))[0];
    return {y, by_x, by_y, gradients(by_y, p.subspan(1))[0], gradients(by_x, p.subspan(1))[0]};
  });
  EXPECT_EQ(values, (std::vector<double>{3 * 512, 512 + 9 * 64, 9 * 64, 18 * 8, 3 * 64 + 18 * 8}));
}

TEST(Gradients, WithRespectToAnIntermediateValue) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Value z = p[0] + p[1];
    return gradients(z * z * p[0], std::span(&z, 1));
  });
  EXPECT_EQ(values, (std::vector<double>{2 * 8 * 3}));
}

TEST(Grad, WrapsFunctions) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const ScalarFn f = [](Parameters a) { return a[0] * a[0] * a[1]; };
  const auto values = at_3_5([&](Graph&, Parameters p) -> Values {
    const auto [value, grads] = value_and_grad(f)(p);
    const ScalarFn slope = [&](Parameters a) { return grad(f)(a)[0]; };
    return {value, grads[0], grads[1], grad(slope)(p)[0]};
  });
  EXPECT_EQ(values, (std::vector<double>{45, 30, 9, 10}));
}

TEST(Gradients, CrossAnOpWithoutGradientOnlyOffTheirPath) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // The loop depends on x, but y does not depend on the loop's float result.
  const auto values = at_3_5([](Graph&, Parameters p) -> Values {
    const Values loop = while_loop([](Parameters s) { return less(s[0], 100.0); },
                                   [](Parameters s) -> Values { return {s[0] * 2.0}; }, p.first(1));
    Values grads = gradients(p[0] * p[0], p.first(1));
    grads.push_back(loop[0]);
    return grads;
  });
  EXPECT_EQ(values, (std::vector<double>{6, 192}));
}

TEST(GradientErrors, NeedAFloatingScalar) {
  EXPECT_EQ(error_of([](Graph&, Parameters p) { return gradients(p[0], p); }).message(),
            "[grad] differentiates a scalar, got f64[2,3]");
  EXPECT_EQ(error_of([](Graph&, Parameters p) {
              return gradients(convert(sum(p[0]), DType::kS32), p);
            }).message(),
            "[grad] differentiates a floating result, got s32[]");
  EXPECT_EQ(error_of([](Graph&, Parameters p) {
              const Value whole = convert(p[0], DType::kS32);
              return gradients(sum(p[0]), std::span(&whole, 1));
            }).message(),
            "[grad] cannot differentiate with respect to s32[2,3]");
}

TEST(GradientErrors, NeedCotangentsOfTheOutputsShapes) {
  EXPECT_EQ(error_of([](Graph&, Parameters p) {
              const Values cotangents = {sum(p[0])};
              return gradients(p.first(1), cotangents, p);
            }).message(),
            "[grad] the cotangent of output 0 is f64[] but the output is f64[2,3]");
  EXPECT_EQ(error_of([](Graph&, Parameters p) { return gradients(p, p.first(1), p); }).message(),
            "[grad] got 1 cotangents for 2 outputs");
}

TEST(GradientErrors, NameTheOpAndItsScope) {
  const BodyFn fn = [](Graph& g, Parameters p) -> Values {
    const auto scope = g.scope("layers.mlp");
    CustomCallAttrs attrs{.target = "kernel", .results = {p[0].shape()}};
    const Value y = custom_call(p, attrs)[0];
    return gradients(sum(y), p);
  };
  const Status status = error_of(fn);
  EXPECT_THAT(status.message(), HasSubstr("[custom_call] cannot be differentiated: "));
  EXPECT_THAT(status.message(), HasSubstr("(layers.mlp)"));
}

}  // namespace
}  // namespace tessera::op_testing
