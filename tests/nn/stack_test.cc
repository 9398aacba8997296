#include "tessera/nn/stack.h"

#include <cmath>

#include "tessera/nn/layers.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

constexpr int64_t kLayers = 3;

Tree<Value> params_of(Parameters p) {
  Tree<Value> tree;
  CHECK(tree.add("norm.scale", p[0]).ok());
  CHECK(tree.add("up.kernel", p[1]).ok());
  CHECK(tree.add("down.kernel", p[2]).ok());
  return tree;
}

// A residual block, whose sums are of its hidden units; p[4] is a value from outside, as rotary
// tables are.
LayerFn block(Value outside) {
  return [outside](const Tree<Value>& params, Value x, Parameters) {
    const Value normed = rms_norm(x, params.at("norm.scale"), 1e-3);
    const Value hidden = checkpoint_name(silu(matmul(normed, params.at("up.kernel"))), "hidden");
    return LayerOutput(x + matmul(hidden * outside, params.at("down.kernel")), sum(hidden, {0}));
  };
}

BodyFn stack_fn(StackOptions options) {
  return [options](Graph&, Parameters p) -> Values {
    const LayerOutput output = run_layers(params_of(p), p[3], block(p[4]), options);
    return {output.x, output.sums};
  };
}

std::vector<HostArray> stack_inputs() {
  return {random_f64({kLayers, 4}, 0.5, 2, 1), random_f64({kLayers, 4, 3}, -1, 1, 2),
          random_f64({kLayers, 3, 4}, -1, 1, 3), random_f64({2, 4}, -1, 1, 4),
          random_f64({3}, 0.5, 2, 5)};
}

// The value and the gradients by all inputs.
std::vector<double> value_and_gradients(const StackOptions& options) {
  const BodyFn fn = [options](Graph& g, Parameters p) -> Values {
    const Values y = stack_fn(options)(g, p);
    Values out = gradients(sum(sin(y[0])) + sum(y[1] * y[1]), p);
    out.insert(out.end(), y.begin(), y.end());
    return out;
  };
  const Result<std::vector<HostArray>> outputs = evaluate(fn, stack_inputs());
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> all;
  if (!outputs.ok()) return all;
  for (const HostArray& output : *outputs) {
    const std::vector<double> values = to_doubles(output);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// The layers one after the other on the host, from slices of the parameters: the stream, then the
// sums.
std::vector<double> host_layers() {
  const std::vector<HostArray> inputs = stack_inputs();
  const std::vector<double> scale = to_doubles(inputs[0]), up = to_doubles(inputs[1]),
                            down = to_doubles(inputs[2]), outside = to_doubles(inputs[4]);
  std::vector<double> x = to_doubles(inputs[3]), sums(3);
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    for (int row = 0; row < 2; ++row) {
      double* stream = &x[row * 4];
      double squares = 0;
      for (int i = 0; i < 4; ++i) squares += stream[i] * stream[i];
      double normed[4];
      for (int i = 0; i < 4; ++i)
        normed[i] = stream[i] / std::sqrt(squares / 4 + 1e-3) * scale[layer * 4 + i];
      double update[4] = {};
      for (int h = 0; h < 3; ++h) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) sum += normed[i] * up[(layer * 4 + i) * 3 + h];
        const double hidden = sum / (1 + std::exp(-sum));
        sums[h] += hidden;
        for (int i = 0; i < 4; ++i)
          update[i] += hidden * outside[h] * down[(layer * 3 + h) * 4 + i];
      }
      for (int i = 0; i < 4; ++i) stream[i] += update[i];
    }
  }
  x.insert(x.end(), sums.begin(), sums.end());
  return x;
}

TEST(RunLayers, ComputesTheLayersInOrderAndAddsTheirSums) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const std::vector<double> expected = host_layers();
  for (const bool scan : {true, false}) {
    const std::vector<double> got = value_and_gradients({.scan = scan});
    ASSERT_GT(got.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(got[got.size() - expected.size() + i], expected[i], 1e-12);
  }
}

TEST(RunLayers, GivesTheSameValueAndGradientsInEveryForm) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const std::vector<double> expected = value_and_gradients({.scan = false});
  const std::pair<const char*, RematPolicy> policies[] = {
      {"nothing", save_nothing()}, {"dots", save_dots()}, {"names", save_names({"hidden"})}};
  for (const bool scan : {true, false}) {
    for (const auto& [name, policy] : policies) {
      SCOPED_TRACE(str_cat(scan ? "scan" : "unrolled", ", saves ", name));
      const auto got = value_and_gradients({.scan = scan, .remat = true, .policy = policy});
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-12) << i;
    }
  }
  const std::vector<double> scanned = value_and_gradients({});
  ASSERT_EQ(scanned.size(), expected.size());
  for (size_t i = 0; i < scanned.size(); ++i) ASSERT_NEAR(scanned[i], expected[i], 1e-12) << i;
}

TEST(RunLayers, HasTheGradientOfFiniteDifferences) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const bool scan : {true, false}) {
    check_gradient({.name = scan ? "scanned" : "unrolled",
                    .fn = stack_fn({.scan = scan, .remat = true, .policy = save_dots()}),
                    .inputs = stack_inputs()});
  }
}

}  // namespace
}  // namespace tessera::op_testing
