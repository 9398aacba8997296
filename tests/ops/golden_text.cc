#include "tests/ops/golden_text.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tessera/stablehlo/module.h"
#include "tests/ops/golden.h"

namespace tessera::op_testing {

std::string printed(const TextCase& c) {
  const auto graph = trace_like(c.fn, c.inputs);
  EXPECT_TRUE(graph.ok()) << c.name << ": " << graph.status();
  if (!graph.ok()) return "";
  const auto text =
      stablehlo::print_module(**graph, {.name = c.name, .mesh = c.mesh ? &*c.mesh : nullptr});
  EXPECT_TRUE(text.ok()) << c.name << ": " << text.status();
  return text.ok() ? *text : "";
}

void expect_golden_text(const std::string& file, std::span<const TextCase> cases) {
  std::string text = "// Made by op_test with TESSERA_UPDATE_GOLDEN=1.\n";
  for (const TextCase& c : cases) str_append(&text, "\n", printed(c));
  const std::string path = golden_path(file);
  if (std::getenv("TESSERA_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream golden(path);
  ASSERT_TRUE(golden) << "no golden file " << path << ": run with TESSERA_UPDATE_GOLDEN=1";
  std::stringstream expected;
  expected << golden.rdbuf();
  EXPECT_EQ(text, expected.str());
}

}  // namespace tessera::op_testing
