#include "tests/ops/golden.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tessera/pjrt/testing.h"
#include "tessera/stablehlo/module.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

std::map<std::string, BodyFn> functions_of(const std::string& family) {
  std::map<std::string, BodyFn> functions;
  for (const GoldenFamily& candidate : golden_families()) {
    if (candidate.name != family) continue;
    for (GoldenFunction& function : candidate.make()) {
      EXPECT_TRUE(functions.emplace(function.key, function.fn).second)
          << function.key << " is filed twice";
    }
  }
  return functions;
}

// All cases of one function in one program, which saves compilations: the parameters and outputs of
// one case after those of the other.
void run_cases(const BodyFn& fn, std::span<const GoldenCase> cases) {
  std::vector<HostArray> inputs;
  for (const GoldenCase& c : cases) inputs.insert(inputs.end(), c.inputs.begin(), c.inputs.end());
  const BodyFn all = [&](Graph& graph, std::span<const Value> parameters) {
    std::vector<Value> outputs;
    size_t first = 0;
    for (const GoldenCase& c : cases) {
      for (Value y : fn(graph, parameters.subspan(first, c.inputs.size()))) outputs.push_back(y);
      first += c.inputs.size();
    }
    return outputs;
  };
  const Result<std::vector<HostArray>> got = evaluate(all, inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  size_t first = 0;
  for (const GoldenCase& c : cases) {
    std::string trace = "inputs";
    for (const HostArray& input : c.inputs) str_append(&trace, " ", to_string(input.shape()));
    SCOPED_TRACE(trace);
    ASSERT_LE(first + c.outputs.size(), got->size());
    expect_golden(c, std::span(*got).subspan(first, c.outputs.size()));
    first += c.outputs.size();
  }
}

std::map<std::string, std::vector<GoldenCase>> cases_of(const std::string& family) {
  std::map<std::string, std::vector<GoldenCase>> cases;
  Result<std::vector<GoldenCase>> loaded = load_golden(family);
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  if (!loaded.ok()) return cases;
  for (GoldenCase& c : *loaded) cases[c.key].push_back(std::move(c));
  return cases;
}

template <typename Map>
std::set<std::string> keys(const Map& map) {
  std::set<std::string> result;
  for (const auto& [key, value] : map) result.insert(key);
  return result;
}

class OpValues : public ::testing::TestWithParam<std::string> {};

TEST_P(OpValues, AreNumPys) {
  const auto functions = functions_of(GetParam());
  const auto cases = cases_of(GetParam());
  ASSERT_EQ(keys(functions), keys(cases)) << "functions in the test and in the golden file differ";
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const auto& [key, fn] : functions) {
    SCOPED_TRACE(key);
    run_cases(fn, cases.at(key));
  }
}

class OpText : public ::testing::TestWithParam<std::string> {};

TEST_P(OpText, IsAsInTheGoldenFile) {
  const auto functions = functions_of(GetParam());
  const auto cases = cases_of(GetParam());
  std::string text = "// Made by op_test with TESSERA_UPDATE_GOLDEN=1.\n";
  for (const auto& [key, fn] : functions) {
    ASSERT_TRUE(cases.contains(key)) << key;
    const auto graph = trace_like(fn, cases.at(key).front().inputs);
    ASSERT_TRUE(graph.ok()) << key << ": " << graph.status();
    const auto module = stablehlo::print_module(**graph, {.name = key});
    ASSERT_TRUE(module.ok()) << key << ": " << module.status();
    str_append(&text, "\n", *module);
  }
  const std::string path = golden_path(GetParam() + ".mlir");
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << "no golden file " << path << ": run with TESSERA_UPDATE_GOLDEN=1";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str());
}

std::vector<std::string> family_names() {
  std::set<std::string> names;
  for (const GoldenFamily& family : golden_families()) names.insert(family.name);
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Families, OpValues, ::testing::ValuesIn(family_names()),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Families, OpText, ::testing::ValuesIn(family_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera::op_testing
