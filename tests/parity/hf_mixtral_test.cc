#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tessera/models/mixtral/model.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/parity/formula.h"

// The mixture of experts against Hugging Face's MixtralForCausalLM.

namespace tessera::parity {
namespace {

MixtralConfig mixtral_of(const Json& golden) {
  MixtralConfig config{.decoder = config_of(golden), .mixture = {}};
  config.mixture.experts = golden.at("experts");
  config.mixture.experts_per_token = golden.at("experts_per_token");
  config.mixture.balance_loss = 1;
  return config;
}

// Logits and the balance loss.
Result<std::vector<HostArray>> run(const Mixtral& model, Dims batch) {
  const Tree<HostArray> params = weights_of(model.params(), {.gain = 8, .random_scales = true});
  std::vector<NamedShape> shapes;
  std::vector<HostArray> inputs;
  for (const auto& [path, value] : params) {
    shapes.push_back({path, value.shape()});
    inputs.push_back(value);
  }
  inputs.push_back(tokens(100, model.vocab_size(), std::move(batch)));
  shapes.push_back({"tokens", inputs.back().shape()});
  ASSIGN_OR_RETURN(const auto graph, trace(shapes, [&](Graph&, std::span<const Value> values) {
                     size_t i = 0;
                     const Tree<Value> bound = params.map(
                         [&](const std::string&, const HostArray&) { return values[i++]; });
                     const ModelOutput out = model.forward(bound, {.tokens_BT = values.back()}, {});
                     return std::vector<Value>{out.logits_BTV, out.aux_loss_sum};
                   }));
  ASSIGN_OR_RETURN(const std::string text, stablehlo::print_module(*graph));
  return pjrt::testing::run_stablehlo(text, inputs);
}

class HuggingFaceMixtral : public ::testing::TestWithParam<const char*> {};

TEST_P(HuggingFaceMixtral, LogitsAgree) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Json> golden = load_golden(str_cat("hf_mixtral_", GetParam(), ".json"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  const auto outputs =
      run(Mixtral(mixtral_of(*golden)), {golden->at("batch"), golden->at("length")});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<double> expected = golden->at("logits");
  const std::vector<double> got = to_doubles((*outputs)[0]);
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0, worst = 0;
  for (double value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(got[i] - expected[i]));
  EXPECT_GT(largest, 0.5) << "logits this small would show nothing";
  EXPECT_LE(worst / largest, 1e-5);
  // Theirs averages over rows and layers before it multiplies.
  if (golden->at("batch") == 1 && golden->at("layers") == 1) {
    EXPECT_NEAR(to_doubles((*outputs)[1])[0], golden->at("balance_loss").get<double>(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Mixtral, HuggingFaceMixtral,
                         ::testing::Values("two_of_eight", "three_of_four", "one_row"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::parity
