#include "tessera/nn/loss.h"

#include <cmath>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

constexpr double kZ = 0.125;
constexpr int64_t kClasses = 5;

const HostArray& targets() {
  static const HostArray array = from_doubles({DType::kS32, {2, 3}}, Doubles{0, 4, 2, 1, 1, 3});
  return array;
}
HostArray weights(Doubles values) { return from_doubles({DType::kF32, {2, 3}}, values); }

struct HostLoss {
  double cross_entropy = 0, z_loss = 0, weight = 0, mean = 0;
  Doubles gradient;  // of mean by the logits
};

HostLoss host_loss(const HostArray& logits, const HostArray& weights) {
  const Doubles x = to_doubles(logits), w = to_doubles(weights), y = to_doubles(targets());
  HostLoss loss;
  loss.gradient.resize(x.size());
  for (double weight : w) loss.weight += weight;
  const double divisor = std::max(loss.weight, 1e-8);
  for (size_t token = 0; token < w.size(); ++token) {
    const double* row = &x[token * kClasses];
    double total = 0;
    for (int64_t c = 0; c < kClasses; ++c) total += std::exp(row[c]);
    const double log_z = std::log(total);
    loss.cross_entropy += w[token] * (log_z - row[static_cast<int>(y[token])]);
    loss.z_loss += w[token] * log_z * log_z;
    for (int64_t c = 0; c < kClasses; ++c) {
      const double probability = std::exp(row[c] - log_z);
      const double is_target = c == y[token] ? 1 : 0;
      loss.gradient[token * kClasses + c] =
          w[token] * (probability * (1 + 2 * kZ * log_z) - is_target) / divisor;
    }
  }
  loss.mean = (loss.cross_entropy + kZ * loss.z_loss) / divisor;
  return loss;
}

// logits, targets, weights → the three sums, the mean, its gradient by the logits.
const BodyFn kLoss = [](Graph&, Parameters p) -> Values {
  const LossSums sums = language_model_loss(p[0], p[1], p[2]);
  const Value mean = mean_loss(sums, kZ);
  return {sums.cross_entropy, sums.z_loss, sums.weight, mean, gradients(mean, p.first(1))[0]};
};

void expect_host_loss(const HostArray& logits, const HostArray& weights, double tolerance) {
  const std::vector<HostArray> inputs = {logits, targets(), weights};
  const Result<std::vector<HostArray>> outputs = evaluate(kLoss, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const HostLoss expected = host_loss(logits, weights);
  const auto scalar = [&](size_t i) { return to_doubles((*outputs)[i])[0]; };
  EXPECT_NEAR(scalar(0), expected.cross_entropy, tolerance);
  EXPECT_NEAR(scalar(1), expected.z_loss, tolerance);
  EXPECT_NEAR(scalar(2), expected.weight, tolerance);
  EXPECT_NEAR(scalar(3), expected.mean, tolerance);
  EXPECT_EQ((*outputs)[4].shape(), logits.shape());
  const Doubles gradient = to_doubles((*outputs)[4]);
  for (size_t i = 0; i < gradient.size(); ++i)
    EXPECT_NEAR(gradient[i], expected.gradient[i], tolerance) << "element " << i;
}

TEST(LanguageModelLoss, AndItsGradientAreTheHosts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const HostArray logits = random_f64({2, 3, kClasses}, -3, 3);
  const HostArray masked = weights({1, 0, 1, 0.5, 0, 1});
  expect_host_loss(logits, masked, 1e-12);
  expect_host_loss(as_dtype(logits, DType::kF32), masked, 1e-5);
}

TEST(LanguageModelLoss, OfBF16LogitsIsComputedInF32) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const HostArray logits = as_dtype(random_f64({2, 3, kClasses}, -3, 3), DType::kBF16);
  const HostArray ones = weights({1, 1, 1, 1, 1, 1});
  const std::vector<HostArray> inputs = {logits, targets(), ones};
  const Result<std::vector<HostArray>> outputs = evaluate(kLoss, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(to_string((*outputs)[3].shape()), "f32[]");
  EXPECT_NEAR(to_doubles((*outputs)[3])[0], host_loss(logits, ones).mean, 1e-5);
}

TEST(LanguageModelLoss, IsZeroWhenNoTokenCounts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const HostArray none = weights({0, 0, 0, 0, 0, 0});
  const HostArray logits = random_f64({2, 3, kClasses}, -3, 3);
  expect_host_loss(logits, none, 0);
}

TEST(LanguageModelLoss, DoesNotOverflow) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Doubles large(6 * kClasses, -1e4);
  for (size_t token = 0; token < 6; ++token) large[token * kClasses + 1] = 1e4;
  const std::vector<HostArray> inputs = {from_doubles({DType::kF32, {2, 3, kClasses}}, large),
                                         targets(), weights({1, 0, 0, 1, 0, 0})};
  const Result<std::vector<HostArray>> outputs = evaluate(kLoss, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_FLOAT_EQ(to_doubles((*outputs)[0])[0], 2e4);  // one token wrong by 2e4, one right
}

TEST(LanguageModelLoss, HasTheGradientOfFiniteDifferences) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const HostArray masked = weights({1, 0, 1, 0.5, 0, 1});
  check_gradient({.name = "loss",
                  .fn = [](Graph&, Parameters p) -> Values {
                    return {mean_loss(language_model_loss(p[0], p[1], p[2]), kZ)};
                  },
                  .inputs = {random_f64({2, 3, kClasses}), targets(), masked}});
}

}  // namespace
}  // namespace tessera::op_testing
