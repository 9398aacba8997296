#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tessera/models/llama/model.h"
#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/parity/formula.h"

// The model against Hugging Face's LlamaForCausalLM: grouped heads, tied and untied, heads wider
// than embed / heads, GeGLU; and, with a sliding window, against MistralForCausalLM.

namespace tessera::parity {
namespace {

class HuggingFace : public ::testing::TestWithParam<const char*> {};

TEST_P(HuggingFace, LogitsAgree) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const Result<Json> golden = load_golden(str_cat("hf_llama_", GetParam(), ".json"));
  ASSERT_TRUE(golden.ok()) << golden.status();
  const LlamaConfig config = config_of(*golden);
  const Tree<HostArray> params = llama_weights(config, {.gain = 8, .random_scales = true});
  std::vector<NamedShape> shapes;
  std::vector<HostArray> inputs;
  for (const auto& [path, value] : params) {
    shapes.push_back({path, value.shape()});
    inputs.push_back(value);
  }
  inputs.push_back(tokens(100, config.vocab_size, {golden->at("batch"), golden->at("length")}));
  shapes.push_back({"tokens", inputs.back().shape()});
  const auto graph = trace(shapes, [&](Graph&, std::span<const Value> values) {
    size_t i = 0;
    const Tree<Value> bound =
        params.map([&](const std::string&, const HostArray&) { return values[i++]; });
    return std::vector<Value>{llama_logits(bound, {.tokens_BT = values.back()}, config)};
  });
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Result<std::string> text = stablehlo::print_module(**graph);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto outputs = pjrt::testing::run_stablehlo(*text, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();

  const std::vector<double> expected = golden->at("logits");
  const std::vector<double> got = to_doubles((*outputs)[0]);
  ASSERT_EQ(got.size(), expected.size());
  double largest = 0, worst = 0;
  for (double value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(got[i] - expected[i]));
  EXPECT_GT(largest, 0.5) << "logits this small would show nothing";
  EXPECT_LE(worst / largest, 1e-5);
  std::cout << "largest relative error " << worst / largest << "\n";
}

INSTANTIATE_TEST_SUITE_P(Llama, HuggingFace,
                         ::testing::Values("untied", "tied", "wide_heads", "window", "gelu"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::parity
