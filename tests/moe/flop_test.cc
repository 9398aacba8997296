// The FLOP formula against the matrix products of the compiled step.

#include <gtest/gtest.h>

#include <iostream>

#include "tessera/nn/moe.h"
#include "tessera/pjrt/testing.h"
#include "tessera/train/compile_report.h"
#include "tessera/train/session.h"
#include "tests/moe/moe_run.h"

namespace tessera::moe {
namespace {

RunConfig wide_config() {
  RunConfig config = small_config();
  config.model.llama = {
      .vocab_size = 512, .layers = 2, .embed = 64, .mlp = 128, .heads = 4, .kv_heads = 2};
  config.training.batch_size = 2;
  config.training.sequence_length = 256;
  return config;
}

Result<double> compiled_flop(const RunConfig& base) {
  RunConfig config = base;
  config.mesh.ici_degree("fsdp") = 1;
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(1));
  ASSIGN_OR_RETURN(config.mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(config.mesh, slices));
  ASSIGN_OR_RETURN(const auto model, make_model(config.model));
  ASSIGN_OR_RETURN(const CompileReport report, compile_step_report(*model, config, layout, slices));
  return report.flops;
}

// What the step computes beyond the formula: the half of the scores that the causal mask covers,
// the places that stay empty, and, dropless, the further rounds that a step may need. Those are
// computed once more in the reverse pass: 8 FLOP a weight and token, not 6.
double beyond_formula(const RunConfig& config, const LanguageModel& model) {
  const int64_t batch = config.training.batch_size, length = config.training.sequence_length;
  const double scores = model.step_flop(batch, length) - 2 * model.step_flop(batch, length / 2);
  const MixtureConfig& mixture = config.model.mixture;
  const MoeRounds rounds = moe_rounds({.experts = mixture.experts,
                                       .experts_per_token = mixture.experts_per_token,
                                       .capacity_factor = mixture.capacity_factor},
                                      length);
  const double places = static_cast<double>(mixture.experts * rounds.first);
  const double further = static_cast<double>(mixture.experts * rounds.next * rounds.most);
  const double assignments = static_cast<double>(length * mixture.experts_per_token);
  const LlamaConfig& c = config.model.llama;
  const double weights = 3 * static_cast<double>(c.embed * c.mlp * c.layers * batch);
  return 2 * scores + weights * (6 * (places - assignments) + 8 * further);
}

struct Case {
  const char* name;
  std::optional<double> capacity_factor;
  int64_t experts;
  int64_t experts_per_token;
};

TEST(StepFlop, IsThatOfTheCompiledMixtureUpToWhatTheDocumentationSays) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  // The first two compute no more than the formula counts.
  for (const Case& c : {Case{"exact capacity", 1.0, 8, 2}, Case{"every expert", {}, 2, 2},
                        Case{"roomy capacity", 1.5, 8, 2}, Case{"dropless", {}, 8, 2}}) {
    SCOPED_TRACE(c.name);
    RunConfig config = wide_config();
    config.model.mixture.capacity_factor = c.capacity_factor;
    config.model.mixture.experts = c.experts;
    config.model.mixture.experts_per_token = c.experts_per_token;
    const auto model = make_model(config.model);
    ASSERT_TRUE(model.ok()) << model.status();
    const auto compiled = compiled_flop(config);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const double formula =
        (*model)->step_flop(config.training.batch_size, config.training.sequence_length);
    const double expected = formula + beyond_formula(config, **model);
    EXPECT_NEAR(*compiled / expected, 1, 0.03);
    std::cout << c.name << ": formula " << formula << ", with what is beyond it " << expected
              << ", compiled " << *compiled << "\n";
  }
}

}  // namespace
}  // namespace tessera::moe
