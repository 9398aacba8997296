#include "tessera/nn/pipeline.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tessera/nn/layers.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"
#include "tests/parallel/runs.h"

// Layers on several devices compute what they compute on one.

namespace tessera::parallel_testing {
namespace {

using op_testing::random_f64;
using Parameters = std::span<const Value>;
using Values = std::vector<Value>;

// ---- the exchange of chunks

TEST(ChunkRounds, BringEveryChunkToTheStageThatRunsIt) {
  for (const auto& [stages, repeats] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 2}, {4, 2}, {2, 4}, {3, 2}, {4, 6}, {8, 3}}) {
    SCOPED_TRACE(str_cat(stages, " stages, ", repeats, " repeats"));
    std::set<int64_t> arrived;
    for (const ChunkRound& round : chunk_rounds(stages, repeats)) {
      std::set<int64_t> targets(round.target.begin(), round.target.end());
      ASSERT_EQ(static_cast<int64_t>(targets.size()), stages);  // a permutation
      for (int64_t s = 0; s < stages; ++s) {
        const int64_t chunk = s * repeats + round.sent[s], target = round.target[s];
        EXPECT_EQ(round.slot[target] * stages + target, chunk);
        arrived.insert(chunk);
      }
    }
    EXPECT_EQ(static_cast<int64_t>(arrived.size()), stages * repeats);
  }
}

TEST(PipelineBubble, ShrinksWithMicrobatchesAndRepeats) {
  EXPECT_DOUBLE_EQ(pipeline_bubble(4, 4, 1), 3.0 / 7);
  EXPECT_DOUBLE_EQ(pipeline_bubble(4, 8, 2), 3.0 / 19);
  EXPECT_DOUBLE_EQ(pipeline_bubble(1, 8, 1), 0);
}

// ---- a stack in f64: values, sums, and gradients by parameters, stream, rows and outside values

constexpr int64_t kLayers = 8, kRows = 16, kWidth = 4;

// p: scale [L,D], kernel [L,D,D], stream [B,D], per-row factors [B,D], a value from outside [D].
std::vector<HostArray> stack_inputs() {
  return {random_f64({kLayers, kWidth}, 0.5, 2, 1), random_f64({kLayers, kWidth, kWidth}, -1, 1, 2),
          random_f64({kRows, kWidth}, -1, 1, 3), random_f64({kRows, kWidth}, 0.5, 1, 4),
          random_f64({kWidth}, 0.5, 2, 5)};
}

BodyFn stack_fn(const StackOptions& options, bool has_sums = true) {
  return [=](Graph&, Parameters p) -> Values {
    Tree<Value> params;
    CHECK(params.add("scale", p[0]).ok());
    CHECK(params.add("kernel", p[1]).ok());
    const LayerFn layer = [&](const Tree<Value>& values, Value x, Parameters rows) {
      const Value normed = rms_norm(x, values.at("scale"), 1e-3);
      const Value hidden = tanh(matmul(normed, values.at("kernel")) * rows[0]) * p[4];
      return LayerOutput(x + hidden, has_sums ? sum(hidden * hidden, {0}) : Value());
    };
    const LayerOutput y = run_layers(params, {p[2], {p[3]}}, layer, options);
    Value loss = sum(sin(y.x) * p[3]);
    if (has_sums) loss = loss + sum(y.sums * y.sums);
    Values out = gradients(loss, p);
    out.push_back(y.x);
    if (has_sums) out.push_back(y.sums);
    for (Value& value : out) value = constrain_axes(value, {});
    return out;
  };
}

void expect_plain_stack(const Mesh& mesh, StackOptions options, bool has_sums = true) {
  const auto inputs = stack_inputs();
  const auto got = op_testing::evaluate(stack_fn(options, has_sums), inputs, mesh);
  ASSERT_TRUE(got.ok()) << got.status();
  const auto expected = op_testing::evaluate(stack_fn({}, has_sums), inputs);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(got->size(), expected->size());
  for (size_t i = 0; i < got->size(); ++i) {
    const auto a = to_doubles((*got)[i]), b = to_doubles((*expected)[i]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(a[k], b[k], 1e-11 * std::max(1.0, std::fabs(b[k]))) << i << ", " << k;
  }
}

TEST(RunPipeline, IsTheStackWithItsGradients) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Mesh mesh = *Mesh::create({{"stage", 4}, {"other", 2}}, 8);
  const auto options = [&](int64_t microbatches, int64_t repeats) {
    return StackOptions{.pipeline = PipelineOptions{mesh, microbatches, repeats}};
  };
  expect_plain_stack(mesh, options(4, 1));
  expect_plain_stack(mesh, options(8, 2), /*has_sums=*/false);
  StackOptions unrolled = options(4, 2);
  unrolled.scan = false;
  unrolled.remat = true;
  expect_plain_stack(mesh, unrolled);
}

TEST(RunPipeline, HasAsManyRepeatsAsStages) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Mesh mesh = *Mesh::create({{"stage", 2}}, 2);
  expect_plain_stack(mesh, {.pipeline = PipelineOptions{mesh, 2, 2}});
}

TEST(RunPipelineErrors, SayWhatDoesNotDivide) {
  const Mesh mesh = *Mesh::create({{"stage", 4}, {"other", 2}}, 8);
  const auto error = [&](int64_t microbatches, int64_t repeats) {
    const StackOptions options{.pipeline = PipelineOptions{mesh, microbatches, repeats}};
    const auto graph = op_testing::trace_like(stack_fn(options), stack_inputs());
    return std::string(graph.status().message());
  };
  EXPECT_THAT(error(6, 1), testing::HasSubstr("6 microbatches cannot be cut into 4 equal parts"));
  EXPECT_THAT(error(12, 1), testing::HasSubstr("16 rows cannot be cut into 12 equal parts"));
  EXPECT_THAT(error(4, 3), testing::HasSubstr("8 layers cannot be cut into 12 equal parts"));
}

// ---- training

RunConfig deep_config() {
  RunConfig config = small_config();
  config.model.llama.layers = 8;
  return config;
}

const std::vector<double>& one_device() {
  static const std::vector<double> kLosses = [] {
    const auto result = losses(deep_config(), {});
    return result.ok() ? *result : std::vector<double>();
  }();
  return kLosses;
}

struct Schedule {
  int64_t microbatches = -1, repeats = 1;
};

void expect_one_device(const Schedule& schedule, const Degrees& degrees,
                       RunConfig config = deep_config()) {
  config.training.pipeline_microbatches = schedule.microbatches;
  config.training.pipeline_repeats = schedule.repeats;
  const auto got = losses(config, degrees);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_LE(worst_error(*got, one_device()), 1e-5);
  ::testing::Test::RecordProperty("worst_error", str_cat(worst_error(*got, one_device())));
}

TEST(Pipeline, GpipeGivesTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device({8, 1}, {{"stage", 8}});
  expect_one_device({4, 1}, {{"stage", 2}, {"fsdp", 2}, {"tensor", 2}});
}

TEST(Pipeline, GoingRoundGivesTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device({4, 2}, {{"stage", 4}, {"data", 2}});
  expect_one_device({4, 4}, {{"stage", 2}, {"fsdp", 2}});
}

TEST(Pipeline, HoldsARingAndRematerializesUnrolledLayers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = deep_config();
  config.training.context_parallel_strategy = ContextStrategy::kRing;
  config.training.remat = true;
  expect_one_device({2, 1}, {{"stage", 2}, {"context", 2}, {"tensor", 2}}, config);
  config.training.scan_layers = false;
  expect_one_device({2, 2}, {{"stage", 2}, {"tensor_sequence", 2}}, config);
}

}  // namespace
}  // namespace tessera::parallel_testing
