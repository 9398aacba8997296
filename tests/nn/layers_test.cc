#include "tessera/nn/layers.h"

#include <algorithm>
#include <cmath>

#include "tessera/nn/attention.h"
#include "tessera/ops/elementwise.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

// Layers against plain loops in double, and their gradients against finite differences.

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;
using Doubles = std::vector<double>;

HostArray integers(Dims dims, Doubles values) {
  return from_doubles({DType::kS32, std::move(dims)}, values);
}

Doubles run_one(const BodyFn& fn, std::span<const HostArray> inputs) {
  const Result<std::vector<HostArray>> outputs = evaluate(fn, inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? to_doubles((*outputs)[0]) : Doubles();
}

// |got - expected| relative to the largest expected.
void expect_near(const Doubles& got, const Doubles& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::fabs(got[i] - expected[i]), tolerance * largest) << "element " << i;
}

struct Accuracy {
  DType dtype;
  double tolerance;
};
constexpr Accuracy kAccuracies[] = {{DType::kF64, 1e-7}, {DType::kF32, 1e-5}, {DType::kBF16, 0.03}};

// The function in each dtype against the same doubles; no closer than `least`.
void expect_in_each_dtype(const BodyFn& fn, const std::vector<HostArray>& inputs,
                          const std::function<Doubles(std::span<const HostArray>)>& reference,
                          double least = 0) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Accuracy& accuracy : kAccuracies) {
    SCOPED_TRACE(dtype_name(accuracy.dtype));
    std::vector<HostArray> rounded, exact;
    for (const HostArray& input : inputs) {
      const bool floating = is_floating(input.shape().dtype);
      rounded.push_back(floating ? as_dtype(input, accuracy.dtype) : input);
      exact.push_back(floating ? as_dtype(rounded.back(), DType::kF64) : input);
    }
    expect_near(run_one(fn, rounded), reference(exact), std::max(accuracy.tolerance, least));
  }
}

// ---- rms_norm

constexpr double kEpsilon = 0.01;  // large enough to matter

Doubles host_rms_norm(std::span<const HostArray> inputs) {
  const Doubles x = to_doubles(inputs[0]), scale = to_doubles(inputs[1]);
  const size_t width = scale.size();
  Doubles out(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
    const double rms = std::sqrt(squares / static_cast<double>(width) + kEpsilon);
    for (size_t i = 0; i < width; ++i) out[row + i] = x[row + i] / rms * scale[i];
  }
  return out;
}

const BodyFn kRmsNorm = [](Graph&, Parameters p) -> Values {
  return {rms_norm(p[0], p[1], kEpsilon)};
};

TEST(RmsNorm, IsTheHostsInEachDtype) {
  expect_in_each_dtype(kRmsNorm, {random_f64({2, 3, 8}), random_f64({8}, 0.5, 2, 1)},
                       host_rms_norm);
}

TEST(RmsNorm, HasItsGradient) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  check_gradient({.name = "rms_norm",
                  .fn = kRmsNorm,
                  .inputs = {random_f64({2, 4}), random_f64({4}, 0.5, 2, 1)}});
}

TEST(RmsNorm, OfLargeBF16DoesNotOverflowAndOfZerosIsZero) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Doubles large = {1e18, -1e18, 1e18, 1e18}, ones = {1, 1, 1, 1}, zeros = {0, 0, 0, 0};
  const HostArray scale = from_doubles({DType::kBF16, {4}}, ones);
  const std::vector<HostArray> big = {from_doubles({DType::kBF16, {1, 4}}, large), scale};
  expect_near(run_one(kRmsNorm, big), {1, -1, 1, 1}, 0.01);
  const std::vector<HostArray> none = {from_doubles({DType::kBF16, {1, 4}}, zeros), scale};
  EXPECT_EQ(run_one(kRmsNorm, none), zeros);
}

// ---- rotary

constexpr double kTheta = 100;

// x: [B,T,H,C], positions: [T] or [B,T].
Doubles host_rotary(std::span<const HostArray> inputs) {
  const Dims& dims = inputs[0].shape().dims;
  const int64_t length = dims[1], heads = dims[2], width = dims[3], half = width / 2;
  const Doubles x = to_doubles(inputs[0]), positions = to_doubles(inputs[1]);
  Doubles out(x.size());
  for (int64_t b = 0; b < dims[0]; ++b) {
    for (int64_t t = 0; t < length; ++t) {
      const double position = positions[(inputs[1].shape().rank() == 2 ? b * length : 0) + t];
      for (int64_t h = 0; h < heads; ++h) {
        const int64_t base = ((b * length + t) * heads + h) * width;
        for (int64_t i = 0; i < half; ++i) {
          const double angle = position * std::pow(kTheta, -2.0 * static_cast<double>(i) /
                                                               static_cast<double>(width));
          const double first = x[base + i], second = x[base + half + i];
          out[base + i] = first * std::cos(angle) - second * std::sin(angle);
          out[base + half + i] = second * std::cos(angle) + first * std::sin(angle);
        }
      }
    }
  }
  return out;
}

const BodyFn kRotary = [](Graph&, Parameters p) -> Values {
  return {apply_rotary(p[0], rotary_tables(p[1], p[0].dim(-1), kTheta))};
};

// The tables are f32 for every dtype, and their frequencies are powers taken in f32: a few units in
// the last place, times the position.
constexpr double kRotaryTolerance = 2e-6;

TEST(Rotary, TurnsPairsOfHalvesByPosition) {
  const HostArray x = random_f64({2, 3, 2, 6});
  expect_in_each_dtype(kRotary, {x, integers({3}, {0, 1, 7})}, host_rotary, kRotaryTolerance);
  // Positions of each row alone, as packed documents have.
  expect_in_each_dtype(kRotary, {x, integers({2, 3}, {0, 1, 2, 0, 0, 5})}, host_rotary,
                       kRotaryTolerance);
}

TEST(Rotary, HasItsGradient) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  check_gradient({.name = "rotary",
                  .fn = [](Graph& g, Parameters p) -> Values {
                    const Value turned = kRotary(g, p)[0];
                    return {turned * turned * turned};
                  },
                  .inputs = {random_f64({1, 2, 1, 4}), integers({2}, {1, 3})}});
}

// ---- attention

// q: [B,T,H,C], k, v: [B,T,K,C], optionally segment ids [B,T].
Doubles host_attention(std::span<const HostArray> inputs) {
  const Dims& dims = inputs[0].shape().dims;
  const int64_t batch = dims[0], length = dims[1], heads = dims[2], width = dims[3];
  const int64_t kv_heads = inputs[1].shape().dims[2];
  const Doubles q = to_doubles(inputs[0]), k = to_doubles(inputs[1]), v = to_doubles(inputs[2]);
  const Doubles segments =
      inputs.size() > 3 ? to_doubles(inputs[3]) : Doubles(static_cast<size_t>(batch * length), 0);
  const auto at = [&](int64_t b, int64_t t, int64_t h, int64_t count) {
    return ((b * length + t) * count + h) * width;
  };
  Doubles out(q.size(), 0);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t kv = h / (heads / kv_heads);
      for (int64_t t = 0; t < length; ++t) {
        std::vector<std::pair<int64_t, double>> weights;
        double total = 0;
        for (int64_t s = 0; s <= t; ++s) {
          if (segments[b * length + s] != segments[b * length + t]) continue;
          double score = 0;
          for (int64_t c = 0; c < width; ++c)
            score += q[at(b, t, h, heads) + c] * k[at(b, s, kv, kv_heads) + c];
          weights.push_back({s, std::exp(score / std::sqrt(static_cast<double>(width)))});
          total += weights.back().second;
        }
        for (const auto& [s, weight] : weights) {
          for (int64_t c = 0; c < width; ++c)
            out[at(b, t, h, heads) + c] += weight / total * v[at(b, s, kv, kv_heads) + c];
        }
      }
    }
  }
  return out;
}

const BodyFn kAttention = [](Graph&, Parameters p) -> Values {
  return {causal_attention(p[0], p[1], p[2], {.segment_ids_BT = p.size() > 3 ? p[3] : Value()})};
};

std::vector<HostArray> attention_inputs(int64_t heads, int64_t kv_heads) {
  return {random_f64({2, 5, heads, 4}, -2, 2), random_f64({2, 5, kv_heads, 4}, -2, 2, 1),
          random_f64({2, 5, kv_heads, 4}, -2, 2, 2)};
}

// Documents packed into rows; an id may come again, and then positions see each other.
HostArray segments() { return integers({2, 5}, {1, 1, 2, 2, 2, 7, 3, 3, 7, 3}); }

TEST(CausalAttention, IsTheHostsForAnyGroupingOfHeads) {
  for (const int64_t kv_heads : {1, 2, 4}) {
    SCOPED_TRACE(kv_heads);
    expect_in_each_dtype(kAttention, attention_inputs(4, kv_heads), host_attention);
  }
}

TEST(CausalAttention, StaysInsideSegments) {
  std::vector<HostArray> inputs = attention_inputs(4, 2);
  inputs.push_back(segments());
  expect_in_each_dtype(kAttention, inputs, host_attention);
}

TEST(CausalAttention, IsExactlyBlindToLaterPositions) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  std::vector<HostArray> inputs = attention_inputs(2, 1);
  const Doubles before = run_one(kAttention, inputs);
  // Changes the last position of the first row in k and v.
  for (size_t i = 16; i < 20; ++i) {
    inputs[1].as<double>()[i] = 100;
    inputs[2].as<double>()[i] = 100;
  }
  const Doubles after = run_one(kAttention, inputs);
  const size_t last = 4 * 2 * 4;  // where its query's outputs begin
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + last, after.begin()));
  EXPECT_NE(before[last], after[last]);
}

TEST(CausalAttention, HasItsGradient) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  std::vector<HostArray> inputs = {random_f64({1, 3, 2, 2}), random_f64({1, 3, 1, 2}, -1, 1, 1),
                                   random_f64({1, 3, 1, 2}, -1, 1, 2)};
  check_gradient({.name = "attention", .fn = kAttention, .inputs = inputs});
  inputs.push_back(integers({1, 3}, {0, 1, 1}));
  check_gradient({.name = "attention_in_segments", .fn = kAttention, .inputs = inputs});
}

TEST(CausalAttention, NeedsHeadsInWholeGroups) {
  const auto graph = trace_like(kAttention, attention_inputs(4, 3));
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().message(), "[causal_attention] 4 heads are no multiple of 3 key heads");
}

}  // namespace
}  // namespace tessera::op_testing
