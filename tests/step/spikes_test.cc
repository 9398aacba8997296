#include "tessera/train/spikes.h"

#include <cmath>

#include "tessera/train/step.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

OptimizerConfig spike_config() {
  OptimizerConfig config;
  config.skip_step_on_spikes = true;
  config.spike_interval = 8;
  config.spike_factor = 6;
  return config;
}

Inputs zero_state(const OptimizerConfig& config) {
  Inputs state;
  for (const auto& [path, spec] : spike_state(config))
    CHECK(state.add("spikes." + path, HostArray(spec.shape())).ok());
  return state;
}

/// Judges one step after the other.
class Judge {
 public:
  Judge() {
    TracedProgram program;
    program.arguments = argument_specs("spikes", spike_state(config_));
    program.results = program.arguments;
    program.arguments.push_back(scalar_spec("loss"));
    program.arguments.push_back(scalar_spec("norm"));
    program.results.push_back(scalar_spec("skip", DType::kBool));
    const Status traced = trace_into(program, [&](Graph&, const Tree<Value>& arguments) {
      const SpikeVerdict verdict = judge_spike(arguments.at("loss"), arguments.at("norm"),
                                               arguments.subtree("spikes"), config_);
      std::vector<Value> results = values_of(verdict.state);
      results.push_back(verdict.skip);
      return results;
    });
    CHECK_MSG(traced.ok(), traced.ToString());
    auto compiled = Compiled::create(program);
    CHECK_MSG(compiled.ok(), compiled.status().ToString());
    compiled_ = *std::move(compiled);
  }

  bool skips(float loss, float norm = 1) {
    Inputs inputs = state_;
    CHECK(inputs.add("loss", f32_scalar(loss)).ok());
    CHECK(inputs.add("norm", f32_scalar(norm)).ok());
    auto results = compiled_->run(inputs);
    CHECK_MSG(results.ok(), results.status().ToString());
    const bool skip = number(*results, "skip") != 0;
    state_ = with(state_, {});
    for (size_t i = 0; i < state_.size(); ++i) state_.value(i) = results->at(state_[i].first);
    return skip;
  }
  double count(const char* what) const { return number(state_, what); }

 private:
  const OptimizerConfig config_ = spike_config();
  Inputs state_ = zero_state(config_);
  std::optional<Compiled> compiled_;
};

float usual(int step) { return 2 + 0.1f * static_cast<float>(step % 3); }

TEST(Spikes, NothingIsSkippedBeforeHalfOfTheWindowIsFilled) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Judge judge;
  for (int step = 0; step < 3; ++step) EXPECT_FALSE(judge.skips(usual(step)));
  EXPECT_FALSE(judge.skips(100));
}

TEST(Spikes, ALossOrANormFarAboveTheOthersIsSkippedAndDoesNotHideTheNext) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Judge judge;
  for (int step = 0; step < 6; ++step) EXPECT_FALSE(judge.skips(usual(step), usual(step)));
  EXPECT_TRUE(judge.skips(1e6f, usual(0)));
  EXPECT_TRUE(judge.skips(1e6f, usual(0)));
  EXPECT_FALSE(judge.skips(usual(1), usual(1)));
  EXPECT_TRUE(judge.skips(usual(1), 1e6f));
  EXPECT_FALSE(judge.skips(0.1f, 0.1f)) << "far below is no spike";
  EXPECT_EQ(judge.count("spikes.skipped"), 3);
}

TEST(Spikes, WhatIsNotFiniteIsSkippedAndNotRemembered) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Judge judge;
  for (int step = 0; step < 5; ++step) EXPECT_FALSE(judge.skips(usual(step)));
  EXPECT_TRUE(judge.skips(NAN));
  EXPECT_TRUE(judge.skips(2, INFINITY));
  EXPECT_EQ(judge.count("spikes.seen"), 5);
  EXPECT_FALSE(judge.skips(usual(0)));
}

TEST(Spikes, ALastingRiseBecomesTheUsual) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Judge judge;
  for (int step = 0; step < 8; ++step) judge.skips(usual(step));
  int skipped = 0;
  while (skipped < 50 && judge.skips(10)) ++skipped;
  EXPECT_GT(skipped, 0);
  EXPECT_LT(skipped, 50);
}

TEST(Spikes, ASkippedStepLeavesWeightsAndMoments) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.optimizer = spike_config();
  const Llama model(config.model.llama);
  Result<Inputs> state = initial_state(model, config);
  ASSERT_TRUE(state.ok()) << state.status();
  Inputs inputs = with(*state, uneven_batch(config.training, 64));
  ASSERT_TRUE(inputs.add("learning_rate", f32_scalar(0.01f)).ok());
  const auto program = trace_train_step(model, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<Compiled> step = Compiled::create(*program);
  ASSERT_TRUE(step.ok()) << step.status();
  Result<Inputs> after = step->run(inputs);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(number(*after, "metrics.step_skipped"), 0);
  EXPECT_GT(
      relative_distance(doubles(inputs, "params.norm.scale"), doubles(*after, "params.norm.scale")),
      0);
  // As if all losses so far had been tiny.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].first == "spikes.seen") inputs.value(i).as<int32_t>()[0] = 8;
  }
  after = step->run(inputs);
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(number(*after, "metrics.step_skipped"), 1);
  EXPECT_EQ(number(*after, "spikes.skipped"), 1);
  EXPECT_EQ(number(*after, "step"), 1);
  for (const auto& [path, array] : *state) {
    if (path.starts_with("spikes.") || path == "step") continue;
    EXPECT_EQ(to_doubles(array), doubles(*after, path)) << path;
  }
}

}  // namespace
}  // namespace tessera::step_testing
