// The trainer sees that a run has gone wrong by a loss that is not finite. No op between a weight
// and the loss may hide a NaN: XLA:CPU's own default lets max and min do so.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/runtime/testing.h"
#include "tessera/train/compile.h"

namespace tessera {
namespace {

constexpr int64_t kVocabulary = 24, kEmbed = 40;

using Activation = std::function<Value(Value)>;

/// logits = activation(embedding[tokens] up) head.
class ActivationModel final : public LanguageModel {
 public:
  explicit ActivationModel(Activation activation) : activation_(std::move(activation)) {}

  Tree<ParamSpec> params() const override {
    Tree<ParamSpec> params;
    CHECK(params.add("embedding", {{kVocabulary, kEmbed}, {"vocab", "embed"}, {}}).ok());
    CHECK(params.add("up", {{kEmbed, kEmbed}, {"embed", "mlp"}, {}}).ok());
    CHECK(params.add("head", {{kEmbed, kVocabulary}, {"embed", "vocab"}, {}}).ok());
    return params;
  }
  ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                      const ComputeOptions& options) const override {
    const auto weight = [&](const char* name) { return convert(params.at(name), options.dtype); };
    const Value x = take(weight("embedding"), inputs.tokens_BT, 0);
    return {.logits_BTV = matmul(activation_(matmul(x, weight("up"))), weight("head"))};
  }
  int64_t vocab_size() const override { return kVocabulary; }
  double step_flop(int64_t, int64_t) const override { return 1; }

 private:
  Activation activation_;
};

RunConfig run_config(ComputeType dtype) {
  RunConfig config;
  config.training.batch_size = 4;
  config.training.sequence_length = 8;
  config.training.dtype = dtype;
  config.training.attend_across_documents = true;
  return config;
}

HostArray ones(const Shape& shape) {
  return from_doubles(shape, std::vector<double>(static_cast<size_t>(shape.elements()), 1));
}

/// One step's metrics with one NaN among the weights of "up".
Result<Tree<Array>> metrics_with_nan(Runtime& runtime, const Activation& activation,
                                     ComputeType dtype) {
  const ActivationModel model(activation);
  const RunConfig config = run_config(dtype);
  MeshConfig mesh;
  mesh.ici_degree("fsdp") = 2;
  ASSIGN_OR_RETURN(const Slices slices, mesh.slices(2));
  ASSIGN_OR_RETURN(mesh, mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
  const auto compile = [&](const TracedProgram& program, const char* name) {
    return compile_program(runtime, program, name, layout);
  };
  ASSIGN_OR_RETURN(const TracedProgram init_program, trace_init(model, config));
  ASSIGN_OR_RETURN(const CompiledFunction init, compile(init_program, "init"));
  ASSIGN_OR_RETURN(const Tree<Array> state, call(init, {}));
  ASSIGN_OR_RETURN(const TracedProgram step_program, trace_train_step(model, config));
  ASSIGN_OR_RETURN(const CompiledFunction step, compile(step_program, "train_step"));
  Tree<Array> arguments;
  for (const ProgramValue& argument : step.arguments()) {
    HostArray value = ones(argument.shape);
    if (const Array* array = state.find(argument.path)) {
      ASSIGN_OR_RETURN(value, array->to_host());
    }
    if (argument.path == "params.up") {
      value.as<float>()[kEmbed + 3] = std::numeric_limits<float>::quiet_NaN();
    }
    ASSIGN_OR_RETURN(Array array, Array::from_host(runtime, value, argument.sharding));
    RETURN_IF_ERROR(arguments.add(argument.path, std::move(array)));
  }
  ASSIGN_OR_RETURN(const Tree<Array> results, call(step, arguments));
  return results.subtree("metrics");
}

TEST(NanInAWeight, ReachesTheLossAndTheGradientsNorm) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto runtime = testing::test_runtime();
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const auto zero = [](Value x) { return scalar(x.graph(), x.dtype(), 0); };
  const std::vector<std::pair<const char*, Activation>> activations = {
      {"none", [](Value x) { return x; }},
      {"relu", [](Value x) { return relu(x); }},
      {"max(x, 0)", [&](Value x) { return maximum(x, zero(x)); }},
      {"max(0, x)", [&](Value x) { return maximum(zero(x), x); }},
      {"min(x, 0)", [&](Value x) { return minimum(x, zero(x)); }},
      {"min(0, x)", [&](Value x) { return minimum(zero(x), x); }},
      {"clamp", [](Value x) { return clamp(x, -1, 1); }},
      // The form in which XLA:CPU does drop it when left to itself.
      {"largest", [](Value x) { return max(x, {2}, /*keepdims=*/true) + zeros_like(x); }},
      {"smallest", [](Value x) { return min(x, {2}, /*keepdims=*/true) + zeros_like(x); }},
  };
  for (const ComputeType dtype : {ComputeType::kF32, ComputeType::kBf16}) {
    for (const auto& [name, activation] : activations) {
      const auto metrics = metrics_with_nan(**runtime, activation, dtype);
      ASSERT_TRUE(metrics.ok()) << name << ": " << metrics.status();
      for (const char* metric : {"loss", "gradient_norm"}) {
        const auto value = metrics->at(metric).to_host();
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_TRUE(std::isnan(value->as<float>()[0]))
            << name << (dtype == ComputeType::kF32 ? ", f32: " : ", bf16: ") << metric << " is "
            << value->as<float>()[0];
      }
    }
  }
}

}  // namespace
}  // namespace tessera
