#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tessera/kernels/kernel_testing.h"
#include "tessera/models/llama/model.h"
#include "tessera/runtime/testing.h"
#include "tessera/train/compile.h"
#include "tests/parity/formula.h"
#include "tests/parity/jax_step.h"

// The trainer's own step against bench/peers/jax_step.py: its weights, its tokens, twenty updates.

namespace tessera::parity {
namespace {

using ::testing::ElementsAre;

constexpr double kLearningRate = 1e-3;

RunConfig run_config(const Json& golden) {
  RunConfig config;
  config.model.llama = config_of(golden);
  config.training.batch_size = golden.at("batch");
  config.training.sequence_length = golden.at("length");
  config.training.dtype = ComputeType::kF32;
  config.training.attend_across_documents = true;
  config.optimizer.no_decay = "";  // JAX's step decays every parameter
  config.optimizer.clip_norm = 0;
  return config;
}

HostArray scalar(float value) {
  return HostArray::from<float>(DType::kF32, {}, std::span<const float>(&value, 1));
}

// The initial value of each argument of the step.
Result<HostArray> initial_value(const ProgramValue& spec, const Tree<HostArray>& params,
                                const JaxStepBatch& batch) {
  if (const HostArray* param = params.find(
          spec.path.starts_with("params.") ? std::string_view(spec.path).substr(7) : "")) {
    return *param;
  }
  if (spec.path == "batch.tokens") return batch.tokens;
  if (spec.path == "batch.targets") return batch.targets;
  if (spec.path == "batch.mask") return ones(spec.shape.dims);
  if (spec.path == "learning_rate") return scalar(kLearningRate);
  if (spec.path == "step" || spec.path.starts_with("optimizer.")) return HostArray(spec.shape);
  return internal_error("nobody knows the argument ", spec.path);
}

struct Degrees {
  int64_t fsdp = 1;
  int64_t tensor = 1;
};

// The compiled step with its arguments on the devices of a mesh.
class Trainer {
 public:
  static Result<Trainer> create(const Json& golden, const Degrees& degrees,
                                std::string_view kernels) {
    const RunConfig config = run_config(golden);
    Trainer trainer;
    ASSIGN_OR_RETURN(trainer.runtime_, tessera::testing::test_runtime());
    MeshConfig mesh;
    mesh.ici_degree("fsdp") = degrees.fsdp;
    mesh.ici_degree("tensor") = degrees.tensor;
    ASSIGN_OR_RETURN(const Slices slices, mesh.slices(degrees.fsdp * degrees.tensor));
    ASSIGN_OR_RETURN(mesh, mesh.resolved(slices));
    ASSIGN_OR_RETURN(Layout layout, make_layout(mesh, slices));
    ASSIGN_OR_RETURN(layout.kernels, choose_kernels(kernels, trainer.runtime_->client()));
    ASSIGN_OR_RETURN(const TracedProgram program,
                     trace_train_step(Llama(config.model.llama), config, &layout));
    ASSIGN_OR_RETURN(CompiledFunction step,
                     compile_program(*trainer.runtime_, program, "train_step", layout));
    trainer.step_ = std::make_unique<CompiledFunction>(std::move(step));
    ASSIGN_OR_RETURN(const Tree<HostArray> params, jax_step_params(config.model.llama));
    const JaxStepBatch batch =
        jax_step_batch(golden.at("vocabulary"), golden.at("batch"), golden.at("length"));
    for (const ProgramValue& argument : trainer.step_->arguments()) {
      ASSIGN_OR_RETURN(const HostArray value, initial_value(argument, params, batch));
      ASSIGN_OR_RETURN(Array array, Array::from_host(*trainer.runtime_, value, argument.sharding));
      RETURN_IF_ERROR(trainer.arguments_.add(argument.path, std::move(array)));
    }
    return trainer;
  }

  // One update; the loss before it.
  Result<double> step() {
    ASSIGN_OR_RETURN(const Tree<Array> results, call(*step_, arguments_));
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (const Array* next = results.find(arguments_[i].first)) arguments_.value(i) = *next;
    }
    ASSIGN_OR_RETURN(const HostArray loss, results.at("metrics.loss").to_host());
    return to_doubles(loss)[0];
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<CompiledFunction> step_;
  Tree<Array> arguments_;
};

// `kernels`: of a recipe.
void expect_jax_losses(const std::string& file, const Degrees& degrees, std::string_view kernels,
                       size_t steps = 20) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Json> golden = load_golden(file);
  ASSERT_TRUE(golden.ok()) << golden.status();
  Result<Trainer> trainer = Trainer::create(*golden, degrees, kernels);
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  const std::vector<double> expected = golden->at("losses");
  const std::vector<double> nudged = golden->at("losses_nudged");
  ASSERT_EQ(expected.size(), 20u);
  ASSERT_EQ(nudged.size(), 20u);
  double apart = 0;  // the most that one bit in one weight has carried JAX from itself up to here
  double worst = 0;
  for (size_t i = 0; i < steps; ++i) {
    const Result<double> loss = trainer->step();
    ASSERT_TRUE(loss.ok()) << loss.status();
    const double error = std::fabs(*loss - expected[i]) / expected[i];
    worst = std::max(worst, error);
    if (std::getenv("TESSERA_PARITY_VERBOSE"))
      std::cout << "step " << i + 1 << ": " << *loss << ", JAX " << expected[i]
                << ", relative error " << error << "\n"
                << std::flush;
    apart = std::max(apart, std::fabs(nudged[i] - expected[i]) / expected[i]);
    // 1e-4, except where the run has become unstable and JAX does not agree with itself to that.
    EXPECT_LE(error, std::max(1e-4, 3 * apart))
        << "step " << i + 1 << ": " << *loss << ", JAX " << expected[i]
        << ", and with one bit changed " << nudged[i];
  }
  std::cout << "largest relative error " << worst << "\n";
}

TEST(JaxParity, TwentyLossesOfASmallModelAgree) {
  for (const std::string& kernels : {std::string("off"), tessera::testing::every_kernel()}) {
    SCOPED_TRACE(kernels);
    expect_jax_losses("jax_losses_small.json", {}, kernels);
  }
}

TEST(JaxParity, TwentyLossesOfASmallModelOnAMeshAgree) {
  for (const std::string& kernels : {std::string("off"), tessera::testing::every_kernel()}) {
    SCOPED_TRACE(kernels);
    expect_jax_losses("jax_losses_small.json", {.fsdp = 2, .tensor = 2}, kernels);
  }
}

// Each step takes some six seconds of a core: all twenty, with TESSERA_PARITY_STEPS=20, are for a
// run by hand.
TEST(JaxParity, LossesOfTheBenchmarkAgree) {
  const char* steps = std::getenv("TESSERA_PARITY_STEPS");
  for (const std::string& kernels : {std::string("off"), tessera::testing::every_kernel()}) {
    SCOPED_TRACE(kernels);
    expect_jax_losses("jax_losses_full.json", {}, kernels, steps ? std::stoul(steps) : 8);
  }
}

TEST(JaxParity, TokensAreNumpys) {
  const JaxStepBatch batch = jax_step_batch(8192, 8, 256);
  EXPECT_EQ(batch.tokens.shape(), (Shape{DType::kS32, {8, 256}}));
  EXPECT_THAT(batch.tokens.as<int32_t>().first(4), ElementsAre(2732, 2607, 1653, 3264));
}

}  // namespace
}  // namespace tessera::parity
