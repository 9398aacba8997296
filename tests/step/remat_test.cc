// What is kept for the reverse pass changes memory and work, not gradients.

#include "tessera/train/remat.h"

#include <gmock/gmock.h>

#include "tessera/train/graph_flop.h"
#include "tessera/train/step.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

using ::testing::HasSubstr;

// One step of plain descent from `state`: quick to compile.
Result<Inputs> step_from(const Inputs& state, const RunConfig& config) {
  const Llama model(config.model.llama);
  ASSIGN_OR_RETURN(const TracedProgram program, trace_train_step(model, config));
  Inputs inputs = with(state, uneven_batch(config.training, model.vocab_size()));
  RETURN_IF_ERROR(inputs.add("learning_rate", f32_scalar(0.01f)));
  return run(program, inputs);
}

TEST(Remat, EveryPolicyGivesTheSameGradientsInScannedAndUnrolledLayers) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.optimizer.kind = OptimizerKind::kSgd;
  config.optimizer.momentum = 0;
  const Result<Inputs> state = initial_state(Llama(config.model.llama), config);
  ASSERT_TRUE(state.ok()) << state.status();
  const Result<Inputs> expected = step_from(*state, config);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::pair<bool, const char*> cases[] = {{true, "save_dots"},
                                                {true, "minimal_with_context"},
                                                {true, "minimal"},
                                                {true, "save_qkv"},
                                                {true, "save_out"},
                                                {true, "full"},
                                                {true, "custom"},
                                                {false, "none"},
                                                {false, "minimal"},
                                                {false, "full"},
                                                {true, "minimal_offloaded"},
                                                {false, "save_qkv_offloaded"}};
  for (const auto& [scan, policy] : cases) {
    config.training.scan_layers = scan;
    config.training.remat = policy;
    config.training.remat_names = {"query_proj", "mlpwo"};
    const Result<Inputs> got = step_from(*state, config);
    ASSERT_TRUE(got.ok()) << policy << got.status();
    for (const char* path : {"metrics.gradient_norms", "metrics.loss"}) {
      EXPECT_LT(relative_distance(doubles(*expected, path), doubles(*got, path)), 1e-5)
          << policy << " scan " << scan << " " << path;
    }
  }
}

// FLOP of a traced step with a policy, over that of the step that computes nothing twice.
double share(const std::string& policy, std::vector<std::string> names = {},
             const Layout* layout = nullptr) {
  RunConfig config = small_config();
  config.model.llama.mlp = 64;
  config.training.remat = policy;
  config.training.remat_names = std::move(names);
  const Llama model(config.model.llama);
  const double flop = matrix_flop(*trace_train_step(model, config, layout)->graph);
  config.training.remat = "none";
  return flop / matrix_flop(*trace_train_step(model, config, layout)->graph);
}

TEST(Remat, PoliciesOrderByWhatTheyComputeAgain) {
  EXPECT_EQ(share("none"), 1);
  EXPECT_EQ(share("save_dots"), 1);  // nothing but products is counted
  const double with_context = share("minimal_with_context"), minimal = share("minimal"),
               qkv = share("save_qkv"), out = share("save_out"), full = share("full");
  EXPECT_GT(with_context, 1);  // the scores
  EXPECT_GT(minimal, with_context);
  EXPECT_GT(qkv, minimal);
  EXPECT_GT(full, qkv);
  EXPECT_GT(full, out);
  // Of forward and twice as much backward at most the forward pass is done again.
  EXPECT_LE(full, 1 + 1.0 / 3);
  EXPECT_GT(full, 1.15);
  EXPECT_EQ(share("custom", {"query_proj", "key_proj", "value_proj"}), qkv);
  EXPECT_EQ(share("custom", {"decoder_layer_input"}), full);
}

TEST(Remat, GateAndUpAsOneProductAreKeptWhereEitherIsNamed) {
  const Slices slices = *MeshConfig().slices(1);
  Layout layout = *make_layout(*MeshConfig().resolved(slices), slices);
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.name == "swiglu") layout.kernels.kernels = {&kernel};
  }
  const double none = share("custom", {"decoder_layer_input"}, &layout),
               gate = share("custom", {"mlpwi_0"}, &layout),
               both = share("custom", {"mlpwi_0", "mlpwi_1"}, &layout);
  EXPECT_LT(gate, none);
  EXPECT_EQ(gate, both);
}

TEST(Remat, LessIsKeptInMemory) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto temp_bytes = [](const std::string& policy) -> int64_t {
    RunConfig config = small_config();
    config.model.llama.layers = 12;
    config.training.sequence_length = 64;
    config.training.remat = policy;
    const auto program = trace_train_step(Llama(config.model.llama), config);
    const Result<Compiled> compiled = Compiled::create(*program);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled->executable().memory_stats()->temp_bytes;
  };
  const int64_t none = temp_bytes("none"), minimal = temp_bytes("minimal"),
                full = temp_bytes("full");
  EXPECT_LT(minimal, none);
  EXPECT_LT(full, minimal);
}

TEST(Remat, NamesThatAreNoneAreRefused) {
  const auto error = [](std::vector<std::string> overrides) {
    TrainingConfig config;
    return load_config(config, "", overrides).ToString();
  };
  EXPECT_THAT(error({"remat=custom"}), HasSubstr("remat_names"));
  EXPECT_THAT(error({"remat=custom", "remat_names=[query_prj]"}),
              ::testing::AllOf(HasSubstr("query_prj"), HasSubstr("query_proj")));
  EXPECT_THAT(error({"remat_names=[context]"}), HasSubstr("remat=custom"));
  EXPECT_THAT(error({"remat=ful"}), HasSubstr("the nearest is full"));
  EXPECT_THAT(error({"remat=custom", "remat_offload_names=[contex]"}),
              ::testing::AllOf(HasSubstr("remat_offload_names"), HasSubstr("is context")));
  EXPECT_THAT(error({"remat_offload_names=[context]"}), HasSubstr("remat=custom"));
  EXPECT_THAT(error({"remat=custom", "remat_names=[context]", "remat_offload_names=[context]"}),
              HasSubstr("in remat_names too"));
}

TEST(StepFlop, IsWhatTheCompilerCounts) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.model.llama = {
      .vocab_size = 1024, .layers = 2, .embed = 256, .mlp = 768, .heads = 4, .kv_heads = 2};
  config.training.batch_size = 4;
  config.training.sequence_length = 256;
  config.training.scan_layers = false;  // the compiler counts a loop's body once
  config.training.attend_across_documents = true;
  config.optimizer.clip_norm = 0;
  config.optimizer.kind = OptimizerKind::kSgd;
  config.optimizer.momentum = 0;
  const Llama model(config.model.llama);
  const auto program = trace_train_step(model, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<Compiled> compiled = Compiled::create(*program);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto cost = compiled->executable().cost_analysis();
  ASSERT_TRUE(cost.ok()) << cost.status();
  // The program computes the masked half of the scores too, which the formula leaves out. Work on
  // scores grows with the square of the length: what doubling adds beyond twice is twice theirs.
  const double counted = model.step_flop(4, 256);
  const double scores = model.step_flop(4, 256) - 2 * model.step_flop(4, 128);
  const double attention = 2 * scores;
  EXPECT_GT(attention / counted, 0.04);
  EXPECT_NEAR(matrix_flop(*program->graph) / (counted + attention), 1, 1e-9);
  EXPECT_NEAR(cost->at("flops") / (counted + attention), 1, 0.03);
}

}  // namespace
}  // namespace tessera::step_testing
