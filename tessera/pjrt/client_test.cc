#include "tessera/pjrt/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/pjrt/testing.h"

namespace tessera::pjrt {
namespace {

using ::testing::ElementsAre;

TEST(RunStablehlo, AddsTwoTensors) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  constexpr std::string_view kText = R"(
    module @add { func.func public @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %0 = stablehlo.add %a, %b : tensor<2x2xf32>
      return %0 : tensor<2x2xf32> } })";
  const std::vector<float> a = {1, 2, 3, 4}, b = {10, 20, 30, 40};
  const std::vector<HostArray> inputs = {HostArray::from<float>(DType::kF32, {2, 2}, a),
                                         HostArray::from<float>(DType::kF32, {2, 2}, b)};
  const auto outputs = testing::run_stablehlo(kText, inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_THAT((*outputs)[0].as<float>(), ElementsAre(11, 22, 33, 44));
}

}  // namespace
}  // namespace tessera::pjrt
