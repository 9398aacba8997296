#include "tessera/nn/dropout.h"

#include <algorithm>

#include "tessera/ops/constant.h"
#include "tessera/ops/random.h"
#include "tessera/train/step.h"
#include "tests/parity/formula.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

// One step of plain descent, which is quick to compile.
RunConfig dropout_config() {
  RunConfig config = small_config();
  config.training.dropout = 0.2;
  config.optimizer.kind = OptimizerKind::kSgd;
  config.optimizer.momentum = 0;
  return config;
}

// What the step takes where `step` steps have been made, the weights being formulas.
Inputs inputs_at(const RunConfig& config, int32_t step) {
  Inputs inputs = uneven_batch(config.training, config.model.llama.vocab_size);
  uint32_t stream = 0;
  for (const auto& [path, spec] : llama_params(config.model.llama)) {
    const HostArray value = spec.init.kind == Init::Kind::kOnes
                                ? parity::ones(spec.dims)
                                : parity::weights(stream++, spec.dims, 4);
    CHECK(inputs.add("params." + path, value).ok());
  }
  CHECK(inputs.add("learning_rate", f32_scalar(0.01f)).ok());
  CHECK(inputs
            .add("step",
                 HostArray::from<int32_t>(DType::kS32, {}, std::span<const int32_t>(&step, 1)))
            .ok());
  return inputs;
}

Result<Compiled> compiled_step(const RunConfig& config, const Layout& layout = layout_of({})) {
  ASSIGN_OR_RETURN(const TracedProgram program,
                   trace_train_step(Llama(config.model.llama), config));
  return Compiled::create(program, layout);
}

Result<Inputs> step_results(const RunConfig& config, int32_t step,
                            const Layout& layout = layout_of({})) {
  ASSIGN_OR_RETURN(const Compiled compiled, compiled_step(config, layout));
  return compiled.run(inputs_at(config, step));
}

TEST(Dropout, LeavesOutTheShareAskedForAndKeepsTheMean) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  TracedProgram program;
  program.results = {{"x", Shape{DType::kF32, {100, 100}}, {"", ""}}};
  ASSERT_TRUE(
      trace_into(program, [](Graph& graph, const Tree<Value>&) {
        const Dropout drop{.rate = 0.25, .key = random_key(graph, 7)};
        return std::vector<Value>{dropout(full(graph, Shape{DType::kF32, {100, 100}}, 3), drop)};
      }).ok());
  const Result<Inputs> results = run(program, {});
  ASSERT_TRUE(results.ok()) << results.status();
  const std::vector<double> x = doubles(*results, "x");
  const auto zeros = std::count(x.begin(), x.end(), 0);
  EXPECT_NEAR(static_cast<double>(zeros), 2500, 6 * 43);  // six standard deviations
  for (double value : x) EXPECT_TRUE(value == 0 || value == 4) << value;
}

TEST(Dropout, DependsOnTheStepAndOnNothingElse) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const RunConfig config = dropout_config();
  const Result<Compiled> step = compiled_step(config);
  ASSERT_TRUE(step.ok()) << step.status();
  const Result<Inputs> first = step->run(inputs_at(config, 0)),
                       again = step->run(inputs_at(config, 0)),
                       second = step->run(inputs_at(config, 1));
  ASSERT_TRUE(first.ok() && again.ok() && second.ok()) << first.status() << second.status();
  const char* norms = "metrics.gradient_norms";
  EXPECT_EQ(doubles(*first, norms), doubles(*again, norms));
  EXPECT_GT(relative_distance(doubles(*first, norms), doubles(*second, norms)), 1e-2);
}

TEST(Dropout, IsTheSameOnEveryMeshAndInEveryFormOfTheLayers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = dropout_config();
  const Result<Inputs> expected = step_results(config, 3);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto expect_same = [&](const Result<Inputs>& got, const char* what) {
    ASSERT_TRUE(got.ok()) << what << got.status();
    for (const char* path : {"metrics.loss", "metrics.gradient_norms"}) {
      EXPECT_LT(relative_distance(doubles(*expected, path), doubles(*got, path)), 1e-5)
          << what << " " << path;
    }
  };
  expect_same(step_results(config, 3, layout_of({{"fsdp", 2}, {"tensor", 2}})), "fsdp2 tensor2");
  config.training.remat = "full";
  config.training.scan_layers = false;
  expect_same(step_results(config, 3), "unrolled remat");
}

TEST(Dropout, TakesNoPartInEvaluation) {
  RunConfig config = small_config();
  const Llama model(config.model.llama);
  const auto nodes = [&](double rate) {
    config.training.dropout = rate;
    return trace_eval_step(model, config.training)->graph->size();
  };
  EXPECT_EQ(nodes(0.5), nodes(0));
}

}  // namespace
}  // namespace tessera::step_testing
