#include <gmock/gmock.h>

#include "tessera/models/lora/model.h"
#include "tessera/train/step.h"
#include "tests/parity/formula.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

using ::testing::HasSubstr;

Result<std::unique_ptr<LoraModel>> adapted(const RunConfig& config,
                                           std::string targets = "kernel") {
  return LoraModel::create(std::make_unique<Llama>(config.model.llama),
                           {.rank = 3, .alpha = 6, .targets = std::move(targets)});
}

// (params, tokens) → logits.
Result<std::vector<double>> logits(const LanguageModel& model, const RunConfig& config,
                                   const Inputs& params) {
  TracedProgram program;
  program.arguments = argument_specs("params", model.params());
  program.arguments.push_back({"tokens", Shape{DType::kS32, {2, 16}}, {"", ""}});
  program.results = {{"logits", Shape{DType::kF32, {2, 16, model.vocab_size()}}, {"", "", ""}}};
  RETURN_IF_ERROR(trace_into(program, [&](Graph&, const Tree<Value>& arguments) {
    return std::vector<Value>{model
                                  .forward(arguments.subtree("params"),
                                           {.tokens_BT = arguments.at("tokens")},
                                           {.stack = {.scan = config.training.scan_layers}})
                                  .logits_BTV};
  }));
  Inputs inputs = params;
  RETURN_IF_ERROR(inputs.add("tokens", parity::tokens(7, model.vocab_size(), {2, 16})));
  ASSIGN_OR_RETURN(const Inputs results, run(program, inputs));
  return doubles(results, "logits");
}

// The initial state, with adapters that are not zero.
Inputs moved_state(const LoraModel& model, const RunConfig& config) {
  Inputs state = initial_state(model, config).value();
  for (size_t i = 0; i < state.size(); ++i) {
    if (state[i].first.ends_with("_lora_b"))
      state.value(i) = parity::weights(300 + i, state[i].second.shape().dims, 8);
  }
  return state;
}

TEST(Lora, IsItsBaseAtFirst) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const RunConfig config = small_config();
  const auto model = adapted(config);
  ASSERT_TRUE(model.ok()) << model.status();
  const Result<Inputs> state = initial_state(**model, config);
  ASSERT_TRUE(state.ok()) << state.status();
  const auto base = logits((*model)->base(), config, *state);
  const auto with_adapters = logits(**model, config, *state);
  ASSERT_TRUE(base.ok() && with_adapters.ok()) << base.status() << with_adapters.status();
  EXPECT_EQ(*base, *with_adapters);
}

TEST(Lora, MergedWeightsGiveTheSameLogits) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const bool scan : {true, false}) {
    RunConfig config = small_config();
    config.training.scan_layers = scan;
    const auto model = adapted(config);
    ASSERT_TRUE(model.ok()) << model.status();
    const Inputs state = moved_state(**model, config);
    TracedProgram merge;
    merge.arguments = argument_specs("params", (*model)->params());
    merge.results = argument_specs("params", (*model)->base().params());
    ASSERT_TRUE(trace_into(merge, [&](Graph&, const Tree<Value>& arguments) {
                  return values_of((*model)->merged(arguments.subtree("params")));
                }).ok());
    const Result<Inputs> merged = run(merge, state, layout_of({{"fsdp", 2}, {"tensor", 2}}));
    ASSERT_TRUE(merged.ok()) << merged.status();
    const auto unmerged_logits = logits(**model, config, state);
    const auto merged_logits = logits((*model)->base(), config, *merged);
    const auto base_logits = logits((*model)->base(), config, state);
    ASSERT_TRUE(unmerged_logits.ok() && merged_logits.ok() && base_logits.ok())
        << unmerged_logits.status() << merged_logits.status();
    EXPECT_LT(relative_distance(*unmerged_logits, *merged_logits), 1e-5);
    EXPECT_GT(relative_distance(*unmerged_logits, *base_logits), 1e-2);
  }
}

TEST(Lora, OnlyAdaptersMove) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.optimizer.trainable = kAdapterPattern;
  const auto model = adapted(config, "attention\\.|mlp\\.");
  ASSERT_TRUE(model.ok()) << model.status();
  const Inputs state = moved_state(**model, config);
  Inputs inputs = with(state, uneven_batch(config.training, 64));
  ASSERT_TRUE(inputs.add("learning_rate", f32_scalar(0.01f)).ok());
  const auto program = trace_train_step(**model, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<Inputs> after = run(*program, inputs, layout_of({{"fsdp", 2}}));
  ASSERT_TRUE(after.ok()) << after.status();
  int adapters = 0;
  for (const auto& [path, array] : state) {
    if (path.starts_with("optimizer.")) {
      EXPECT_TRUE(is_adapter(path)) << path;
    }
    if (!path.starts_with("params.")) continue;
    EXPECT_EQ(to_doubles(array) != doubles(*after, path), is_adapter(path)) << path;
    adapters += is_adapter(path);
  }
  EXPECT_EQ(adapters, 2 * 7);
}

TEST(Lora, TargetsThatNothingMatchesAreRefused) {
  const auto model = adapted(small_config(), "atention");
  EXPECT_THAT(std::string(from_absl(model.status().message())),
              ::testing::AllOf(HasSubstr("lora.targets"), HasSubstr("atention"),
                               HasSubstr("embedding.table")));
}

}  // namespace
}  // namespace tessera::step_testing
