// Optimizers against optax, and what concerns all of them.

#include "tessera/train/optimizer.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/train/step.h"
#include "tests/parity/formula.h"
#include "tests/step/step_testing.h"

namespace tessera::step_testing {
namespace {

using ::testing::HasSubstr;

// The parameters of make_optax_updates.py, in its order.
Tree<ParamSpec> golden_params() {
  Tree<ParamSpec> params;
  CHECK(params.add("embedding.table", {{8, 4}, {"vocab", "embed_vocab"}, {}}).ok());
  CHECK(params
            .add("layers.attention.out.kernel",
                 {{2, 2, 3, 4}, {"layers", "heads", "kv", "embed"}, {}})
            .ok());
  CHECK(params.add("layers.mlp.up.kernel", {{2, 4, 6}, {"layers", "embed", "mlp"}, {}}).ok());
  CHECK(params.add("norm.scale", {{5}, {"norm"}, {}}).ok());
  return params;
}

Result<Json> golden() {
  std::ifstream file(TESSERA_GOLDEN_DIR "/optax_updates.json");
  std::stringstream text;
  text << file.rdbuf();
  return parse_json(text.str(), "optax_updates.json");
}

// (params, grads, state, count, learning_rate) → (params, state).
Result<TracedProgram> trace_update(const Optimizer& optimizer) {
  TracedProgram program;
  for (const auto& [prefix, specs] :
       {std::pair("params", optimizer.trainable()), std::pair("optimizer", optimizer.state())}) {
    for (const ArgumentSpec& spec : argument_specs(prefix, specs)) {
      program.arguments.push_back(spec);
      program.results.push_back(spec);
    }
  }
  for (const ArgumentSpec& spec : argument_specs("grads", optimizer.trainable()))
    program.arguments.push_back(spec);
  program.arguments.push_back(scalar_spec("count"));
  program.arguments.push_back(scalar_spec("learning_rate"));
  RETURN_IF_ERROR(trace_into(program, [&](Graph&, const Tree<Value>& arguments) {
    const Optimizer::Next next = optimizer.update(
        arguments.subtree("params"), arguments.subtree("grads"), arguments.subtree("optimizer"),
        {.count = arguments.at("count"), .learning_rate = arguments.at("learning_rate")});
    std::vector<Value> results = values_of(next.params);
    for (Value value : values_of(next.state)) results.push_back(value);
    return results;
  }));
  return program;
}

// The state after `steps` updates from formula.h's parameters by its gradients.
Result<Inputs> updated(const OptimizerConfig& config, int steps, float learning_rate,
                       const Layout& layout = layout_of({})) {
  const Tree<ParamSpec> params = golden_params();
  const Optimizer optimizer(config, params);
  ASSIGN_OR_RETURN(const TracedProgram program, trace_update(optimizer));
  const auto formula = [&](uint32_t first) {
    Inputs values;
    uint32_t i = first;
    for (const auto& [path, spec] : params) {
      CHECK(values.add(path, parity::weights(i++, spec.dims)).ok());
    }
    return values;
  };
  Inputs state;
  RETURN_IF_ERROR(state.append("params", formula(0)));
  for (const auto& [path, spec] : optimizer.state())
    RETURN_IF_ERROR(state.add("optimizer." + path, HostArray(spec.shape())));
  for (int step = 1; step <= steps; ++step) {
    Inputs inputs = state;
    RETURN_IF_ERROR(inputs.append("grads", formula(10 * step)));
    RETURN_IF_ERROR(inputs.add("count", f32_scalar(static_cast<float>(step))));
    RETURN_IF_ERROR(inputs.add("learning_rate", f32_scalar(learning_rate)));
    ASSIGN_OR_RETURN(state, run(program, inputs, layout));
  }
  return state;
}

struct OptaxCase {
  const char* name;
  std::vector<std::string> overrides;
};

class OptaxParity : public ::testing::TestWithParam<OptaxCase> {};

OptimizerConfig config_of(const std::vector<std::string>& overrides) {
  OptimizerConfig config;
  const Status status = load_config(config, "", overrides);
  CHECK_MSG(status.ok(), status.ToString());
  return config;
}

TEST_P(OptaxParity, ThreeUpdatesAgree) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Json> json = golden();
  ASSERT_TRUE(json.ok()) << json.status();
  const OptimizerConfig config = config_of(GetParam().overrides);
  const Result<Inputs> state =
      updated(config, json->at("steps"), json->at("learning_rate").get<float>());
  ASSERT_TRUE(state.ok()) << state.status();
  for (const auto& [path, spec] : golden_params()) {
    const std::vector<double> expected = json->at("params").at(GetParam().name).at(path);
    const std::vector<double> got = doubles(*state, "params." + path);
    ASSERT_EQ(got.size(), expected.size());
    // Updates are about 0.01, weights 0.03: 2e-6 is a five-thousandth of an update.
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 2e-6) << path << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, OptaxParity,
    ::testing::Values(OptaxCase{"adamw", {}}, OptaxCase{"lion", {"kind=lion"}},
                      OptaxCase{"sgd", {"kind=sgd"}},
                      OptaxCase{"sgd_nesterov", {"kind=sgd", "nesterov=true"}},
                      OptaxCase{"adafactor", {"kind=adafactor", "min_factored_dim=4"}},
                      OptaxCase{"adafactor_whole", {"kind=adafactor"}},
                      OptaxCase{"muon", {"kind=muon", "update_rms=null"}},
                      OptaxCase{"muon_plain", {"kind=muon", "update_rms=null", "nesterov=false"}},
                      OptaxCase{"muon_rms", {"kind=muon"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Optimizer, KeepsOnlyWhatItsKindNeeds) {
  const auto elements = [](std::vector<std::string> overrides) {
    return count_params(Optimizer(config_of(overrides), golden_params()).state());
  };
  const int64_t params = count_params(golden_params());
  EXPECT_EQ(elements({}), 2 * params);
  EXPECT_EQ(elements({"kind=lion"}), params);
  EXPECT_EQ(elements({"kind=sgd", "momentum=0"}), 0);
  // Rows and columns of 8x4, of two 6x4 and of two 4x6; the norm whole.
  EXPECT_EQ(elements({"kind=adafactor", "min_factored_dim=4"}), 12 + 20 + 20 + 5);
  // One moment of a matrix, two of embedding and norm.
  EXPECT_EQ(elements({"kind=muon"}), 48 + 48 + 2 * (32 + 5));
}

TEST(Optimizer, GivesTheSameOnAMesh) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const char* kind : {"kind=adafactor", "kind=muon"}) {
    const OptimizerConfig config = config_of({kind, "min_factored_dim=4"});
    const Result<Inputs> one = updated(config, 2, 0.01f);
    const Result<Inputs> four = updated(config, 2, 0.01f, layout_of({{"fsdp", 2}, {"tensor", 2}}));
    ASSERT_TRUE(one.ok() && four.ok()) << one.status() << four.status();
    for (const auto& [path, array] : *one)
      EXPECT_LT(relative_distance(to_doubles(array), doubles(*four, path)), 1e-5) << kind << path;
  }
}

TEST(Optimizer, StoresMomentsInBF16WhenAsked) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Inputs> wide = updated(config_of({}), 3, 0.01f);
  const Result<Inputs> narrow = updated(config_of({"moment_dtype=bf16"}), 3, 0.01f);
  ASSERT_TRUE(wide.ok() && narrow.ok()) << wide.status() << narrow.status();
  EXPECT_EQ(narrow->at("optimizer.mu.norm.scale").shape().dtype, DType::kBF16);
  EXPECT_EQ(narrow->at("params.norm.scale").shape().dtype, DType::kF32);
  for (const auto& [path, spec] : golden_params()) {
    const double apart =
        relative_distance(doubles(*wide, "params." + path), doubles(*narrow, "params." + path));
    EXPECT_LT(apart, 0.01) << path;
    EXPECT_GT(apart, 0) << path;
  }
}

TEST(Optimizer, TrainsOnlyWhatTheRecipeNames) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.optimizer.trainable = "attention";
  const Llama model(config.model.llama);
  Result<Inputs> inputs = initial_state(model, config);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  int states = 0;
  for (const auto& [path, array] : *inputs) {
    if (!path.starts_with("optimizer.")) continue;
    EXPECT_THAT(path, HasSubstr("attention"));
    ++states;
  }
  EXPECT_EQ(states, 2 * 5);  // query, key, value, out and the norm before them
  for (const auto& [path, array] : uneven_batch(config.training, 64))
    ASSERT_TRUE(inputs->add(path, array).ok());
  ASSERT_TRUE(inputs->add("learning_rate", f32_scalar(0.01f)).ok());
  const Result<TracedProgram> program = trace_train_step(model, config);
  ASSERT_TRUE(program.ok()) << program.status();
  const Result<Inputs> after = run(*program, *inputs);
  ASSERT_TRUE(after.ok()) << after.status();
  for (const auto& [path, array] : *inputs) {
    if (!path.starts_with("params.")) continue;
    const bool moved = relative_distance(to_doubles(array), doubles(*after, path)) > 0;
    EXPECT_EQ(moved, path.find("attention") != std::string::npos) << path;
  }
  EXPECT_EQ(after->at("metrics.gradient_norms").shape().dims, Dims{5});
}

TEST(Optimizer, RefusesAMaskThatNothingMatches) {
  OptimizerConfig config;
  config.trainable = "attentoin";
  const Status status = check_trainable(config, golden_params());
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(HasSubstr("optimizer.trainable"), HasSubstr("attentoin"),
                               HasSubstr("embedding.table")));
}

TEST(Optimizer, ConfigsThatCannotWorkAreRefusedWithAKeyAndAValue) {
  const auto error = [](std::vector<std::string> overrides) {
    OptimizerConfig config;
    return load_config(config, "", overrides).ToString();
  };
  EXPECT_THAT(error({"momentum=0.5"}), ::testing::AllOf(HasSubstr("momentum"), HasSubstr("sgd")));
  EXPECT_THAT(error({"moment_dtype=bf16", "b2=0.999"}),
              ::testing::AllOf(HasSubstr("b2"), HasSubstr("0.996"), HasSubstr("f32")));
  EXPECT_THAT(error({"trainable=("}), HasSubstr("trainable"));
  EXPECT_THAT(error({"kind=adam"}), HasSubstr("the nearest is adamw"));
}

}  // namespace
}  // namespace tessera::step_testing
