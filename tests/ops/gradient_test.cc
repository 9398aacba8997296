#include <gtest/gtest-spi.h>

#include "tessera/ops/elementwise.h"
#include "tessera/pjrt/testing.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

class OpGradients : public ::testing::TestWithParam<std::string> {};

TEST_P(OpGradients, AgreeWithFiniteDifferences) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const GradientFamily& family : gradient_families()) {
    if (family.name != GetParam()) continue;
    for (const GradientCase& c : family.make()) check_gradient(c);
  }
}

std::vector<std::string> family_names() {
  std::set<std::string> names;
  for (const GradientFamily& family : gradient_families()) names.insert(family.name);
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Families, OpGradients, ::testing::ValuesIn(family_names()),
                         [](const auto& info) { return info.param; });

// A checker that accepts everything would make all of the above worthless.
TEST(GradientCheck, FindsAWrongGradient) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const GradientCase half = {.name = "half",
                             .fn = [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                               return {p[0] * stop_gradient(p[0])};
                             },
                             .inputs = {random_f64({1}, 0.5, 1)},
                             .options = {.second_order = false}};
  EXPECT_NONFATAL_FAILURE(check_gradient(half), "finite differences");
}

}  // namespace
}  // namespace tessera::op_testing
