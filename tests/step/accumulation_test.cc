// Gradients of a batch computed in parts are the whole batch's.

#include "tessera/models/mixtral/model.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/train/batch_gradients.h"
#include "tessera/train/step.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

/// A decoder with a loss of its own: a sum over rows of something that differs from row to row.
class WithOwnLoss final : public LanguageModel {
 public:
  explicit WithOwnLoss(LlamaConfig config) : model_(std::move(config)) {}
  Tree<ParamSpec> params() const override { return model_.params(); }
  ModelOutput forward(const Tree<Value>& params, const DecoderInputs& inputs,
                      const ComputeOptions& options) const override {
    ModelOutput output = model_.forward(params, inputs, options);
    const Value by_row = mean(convert(output.logits_BTV, DType::kF32), {1, 2});
    output.aux_loss_sum = sum(square(by_row) * 3.0);
    return output;
  }
  int64_t vocab_size() const override { return model_.vocab_size(); }
  double step_flop(int64_t batch, int64_t length) const override {
    return model_.step_flop(batch, length);
  }

 private:
  Llama model_;
};

// (params, batch) → loss, parts of it, gradients.
Result<TracedProgram> trace_gradients(const LanguageModel& model, const RunConfig& config) {
  const Tree<ParamSpec> params = model.params();
  TracedProgram program;
  program.arguments = argument_specs("params", params);
  for (const ArgumentSpec& spec : batch_spec(config.training)) program.arguments.push_back(spec);
  program.results = argument_specs("grads", params);
  for (const char* path : {"loss", "cross_entropy", "weight", "aux_loss"})
    program.results.push_back(scalar_spec(path));
  RETURN_IF_ERROR(trace_into(program, [&](Graph& graph, const Tree<Value>& arguments) {
    const BatchGradients batch =
        batch_gradients(model, arguments.subtree("params"), params, arguments.subtree("batch"),
                        full(graph, Shape{DType::kS32, {}}, 1), {config.training});
    std::vector<Value> results = values_of(batch.grads);
    const Value none = zeros(graph, Shape{DType::kF32, {}});
    for (Value value : {batch.loss, batch.cross_entropy, batch.weight,
                        batch.aux_loss.defined() ? batch.aux_loss : none}) {
      results.push_back(value);
    }
    return results;
  }));
  return program;
}

Result<Inputs> gradients_of(const LanguageModel& model, RunConfig config, int64_t parts,
                            std::vector<MeshAxis> axes = {}) {
  config.training.gradient_accumulation_steps = parts;
  ASSIGN_OR_RETURN(Inputs inputs, initial_state(model, config));
  for (const auto& [path, array] : uneven_batch(config.training, model.vocab_size()))
    RETURN_IF_ERROR(inputs.add(path, array));
  ASSIGN_OR_RETURN(const TracedProgram program, trace_gradients(model, config));
  return run(program, inputs, layout_of(std::move(axes)));
}

void expect_same_gradients(const Inputs& whole, const Inputs& parts) {
  for (const auto& [path, array] : whole) {
    const std::vector<double> expected = to_doubles(array);
    EXPECT_LT(relative_distance(expected, doubles(parts, path)), 1e-5) << path;
  }
}

TEST(Accumulation, GivesTheWholeBatchsGradientsWithZLossAndUnevenTokens) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.z_loss = 0.1;
  const Llama model(config.model.llama);
  const Result<Inputs> whole = gradients_of(model, config, 1);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_GT(number(*whole, "loss"), number(*whole, "cross_entropy"));
  for (const int64_t count : {2, 4}) {
    const Result<Inputs> parts = gradients_of(model, config, count);
    ASSERT_TRUE(parts.ok()) << parts.status();
    expect_same_gradients(*whole, *parts);
  }
}

TEST(Accumulation, GivesTheWholeBatchsGradientsOfAModelsOwnLoss) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const RunConfig config = small_config();
  const WithOwnLoss model(config.model.llama);
  const Result<Inputs> whole = gradients_of(model, config, 1);
  const Result<Inputs> plain = gradients_of(Llama(config.model.llama), config, 1);
  ASSERT_TRUE(whole.ok() && plain.ok()) << whole.status() << plain.status();
  EXPECT_NEAR(number(*whole, "loss"), number(*whole, "cross_entropy") + number(*whole, "aux_loss"),
              1e-6);
  EXPECT_GT(
      relative_distance(doubles(*whole, "grads.head.kernel"), doubles(*plain, "grads.head.kernel")),
      1e-3);
  for (const int64_t count : {2, 4}) {
    const Result<Inputs> parts = gradients_of(model, config, count);
    ASSERT_TRUE(parts.ok()) << parts.status();
    expect_same_gradients(*whole, *parts);
  }
}

TEST(Accumulation, GivesTheWholeBatchsGradientsOfAMixtureWithItsBalanceLoss) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const RunConfig config = small_config();
  const Mixtral model(
      {config.model.llama, {.experts = 4, .balance_loss = 0.5, .router_z_loss = 0.1}});
  const Result<Inputs> whole = gradients_of(model, config, 1);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_GT(number(*whole, "aux_loss"), 0.1);
  for (const int64_t count : {2, 4}) {
    const Result<Inputs> parts = gradients_of(model, config, count);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_NEAR(number(*parts, "aux_loss") / number(*whole, "aux_loss"), 1, 1e-5);
    expect_same_gradients(*whole, *parts);
  }
}

TEST(Accumulation, GivesTheSameGradientsOnAMesh) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.z_loss = 0.1;
  const Llama model(config.model.llama);
  const Result<Inputs> whole = gradients_of(model, config, 1);
  const Result<Inputs> parts = gradients_of(model, config, 2, {{"data", 2}, {"fsdp", 2}});
  ASSERT_TRUE(whole.ok() && parts.ok()) << whole.status() << parts.status();
  expect_same_gradients(*whole, *parts);
}

TEST(Accumulation, IsZeroAndFiniteWhenNoTokenCounts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.gradient_accumulation_steps = 2;
  const Llama model(config.model.llama);
  Result<Inputs> inputs = initial_state(model, config);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  for (const auto& [path, array] : uneven_batch(config.training, 64))
    ASSERT_TRUE(inputs->add(path, path == "batch.mask" ? HostArray(array.shape()) : array).ok());
  const Result<TracedProgram> program = trace_gradients(model, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<Inputs> results = run(*program, *inputs);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(number(*results, "loss"), 0);
  for (double value : doubles(*results, "grads.head.kernel")) ASSERT_EQ(value, 0);
}

// Whether an optimized program, XLA's protocol buffer, has an instruction of this opcode: a string
// field of number 2.
bool has_opcode(const std::string& code, const std::string& opcode) {
  return code.find(str_cat("\x12", std::string(1, static_cast<char>(opcode.size())), opcode)) !=
         std::string::npos;
}

TEST(Accumulation, LeavesEachDeviceItsRows) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.gradient_accumulation_steps = 2;
  const Result<TracedProgram> program = trace_train_step(Llama(config.model.llama), config);
  ASSERT_TRUE(program.ok()) << program.status();
  // Weights are whole on each device: whatever is exchanged but summed would be of the batch.
  const Result<Compiled> compiled = Compiled::create(*program, layout_of({{"data", 4}}));
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto optimized = compiled->executable().optimized_program();
  ASSERT_TRUE(optimized.ok()) << optimized.status();
  ASSERT_TRUE(optimized->format.starts_with("hlo")) << optimized->format;
  EXPECT_TRUE(has_opcode(optimized->code, "all-reduce"));
  for (const char* opcode : {"all-gather", "all-to-all", "collective-permute", "ragged-all-to-all"})
    EXPECT_FALSE(has_opcode(optimized->code, opcode)) << opcode;
}

}  // namespace
}  // namespace tessera::step_testing
