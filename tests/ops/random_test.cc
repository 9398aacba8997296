#include "tessera/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/shape.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/golden.h"
#include "tests/ops/op_testing.h"

// The draws themselves are held to JAX's in tests/parity/jax_random_test.cc.
namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

// What a key gives.
GoldenFunction draw(std::string key, std::function<Value(Value)> fn) {
  return {std::move(key), [fn](Graph&, Parameters p) -> Values { return {fn(p[0])}; }};
}

const bool kGolden = add_golden_functions("random", [] {
  return std::vector<GoldenFunction>{
      {"threefry2x32",
       [](Graph&, Parameters p) -> Values {
         const ThreefryWords words = threefry2x32(p[0], p[1], p[2], p[3]);
         return {words.x, words.y};
       }},
      draw("erf_inv", [](Value x) { return erf_inv(x); }),
  };
});

// ---- statistics: a wrong scale, shift or repetition would show; seeds are fixed, so they cannot
// fail by chance

HostArray seed(uint32_t number) {
  const uint32_t words[] = {0, number};
  return HostArray::from(DType::kU32, {2}, std::span<const uint32_t>(words));
}

std::vector<double> sample(const std::function<Value(Value)>& fn, uint32_t number = 1) {
  const HostArray key = seed(number);
  const auto got =
      evaluate([&](Graph&, Parameters p) -> Values { return {fn(p[0])}; }, std::span(&key, 1));
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? to_doubles((*got)[0]) : std::vector<double>{};
}

constexpr int64_t kCount = 1 << 18;

double moment(std::span<const double> values, int power) {
  double sum = 0;
  for (double value : values) sum += std::pow(value, power);
  return sum / static_cast<double>(values.size());
}

// Pearson's statistic of counts that are all expected to be equal.
double chi_square(std::span<const double> values, int bins) {
  std::vector<double> counts(bins);
  for (double value : values) ++counts.at(static_cast<size_t>(value));
  const double expected = static_cast<double>(values.size()) / bins;
  double sum = 0;
  for (double count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(RandomStatistics, UniformFillsItsBinsEvenly) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = sample([](Value key) {
    return uniform(key, {DType::kF32, {kCount}}, 0, 64);
  });
  const double chi = chi_square(values, 64);
  EXPECT_LT(chi, 63 + 5 * std::sqrt(2.0 * 63));
  EXPECT_GT(chi, 63 - 5 * std::sqrt(2.0 * 63)) << "too even to be random";
}

TEST(RandomStatistics, RandintFillsItsRangeEvenly) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = sample([](Value key) {
    return randint(key, {DType::kS64, {kCount}}, 0, 100);
  });
  EXPECT_LT(chi_square(values, 100), 99 + 5 * std::sqrt(2.0 * 99));
}

TEST(RandomStatistics, NormalHasItsMoments) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = sample([](Value key) { return normal(key, {DType::kF32, {kCount}}); });
  const double error = 5 / std::sqrt(static_cast<double>(kCount));  // five standard deviations
  EXPECT_NEAR(moment(values, 1), 0, error);
  EXPECT_NEAR(moment(values, 2), 1, error * std::sqrt(2.0));
  EXPECT_NEAR(moment(values, 3), 0, error * std::sqrt(15.0));
  EXPECT_NEAR(moment(values, 4), 3, error * std::sqrt(96.0));
}

TEST(RandomStatistics, TruncatedNormalStaysInsideWithItsVariance) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = sample([](Value key) {
    return truncated_normal(key, {DType::kF32, {kCount}});
  });
  ASSERT_FALSE(values.empty());
  EXPECT_GT(std::ranges::min(values), -2);
  EXPECT_LT(std::ranges::max(values), 2);
  EXPECT_NEAR(moment(values, 2), 0.7737, 0.01);  // 1 - 4 φ(2) / (2 Φ(2) - 1)
}

TEST(RandomStatistics, BernoulliHasItsRate) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Dims dims = {kCount};
  const auto values = sample([&](Value key) { return bernoulli(key, 0.1, dims); });
  EXPECT_NEAR(moment(values, 1), 0.1, 5 * std::sqrt(0.09 / static_cast<double>(kCount)));
}

TEST(RandomStatistics, CategoricalFollowsTheSoftmax) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto values = sample([](Value key) {
    const double logits[] = {0, std::log(2.0), std::log(5.0)};
    const HostArray row = from_doubles({DType::kF32, {1, 3}}, logits);
    return categorical(key, broadcast_to(constant(key.graph(), row), {kCount, 3}));
  });
  double counts[3] = {};
  for (double value : values) ++counts[static_cast<size_t>(value)];
  EXPECT_NEAR(counts[0] / kCount, 1.0 / 8, 0.005);
  EXPECT_NEAR(counts[1] / kCount, 2.0 / 8, 0.005);
  EXPECT_NEAR(counts[2] / kCount, 5.0 / 8, 0.005);
}

TEST(RandomStatistics, KeysOfASplitGiveUnrelatedNumbers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto products = sample([](Value key) {
    const auto keys = split(key);
    const Shape shape{DType::kF32, {kCount}};
    return normal(keys[0], shape) * normal(keys[1], shape);
  });
  EXPECT_NEAR(moment(products, 1), 0, 5 / std::sqrt(static_cast<double>(kCount)));
}

const bool kGradients = add_gradient_cases("random", [] {
  return std::vector<GradientCase>{
      {.name = "erf_inv",
       .fn = [](Graph&, Parameters p) -> Values { return {erf_inv(p[0])}; },
       .inputs = {random_f64({7}, -0.6, 0.6)}},
  };
});

}  // namespace
}  // namespace tessera::op_testing
