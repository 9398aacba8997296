// Kernels on meshes: each device's calls are for its own part, and give what XLA's own code gives.
#include <gtest/gtest.h>

#include <regex>

#include "tessera/pjrt/testing.h"
#include "tests/parallel/meshes.h"

namespace tessera::parallel_testing {
namespace {

// One test a mesh, since compiling takes its time.
class KernelsOnMeshes : public ::testing::TestWithParam<int> {};

TEST_P(KernelsOnMeshes, GiveTheLossesOfOneDeviceWithoutKernels) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  MeshCase mesh = mesh_cases()[GetParam()];
  SCOPED_TRACE(mesh.name);
  mesh.config.kernels = "auto";
  const auto error = error_against_one_device(mesh);
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_LE(*error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(OfEightDevices, KernelsOnMeshes,
                         ::testing::Range(0, static_cast<int>(mesh_cases().size())));

// bf16 rounds to 3 digits, and kernels round less often: the losses part by about that much.
TEST(KernelsInBf16, GiveLossesNearThoseWithoutThem) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.dtype = ComputeType::kBf16;
  const auto expected = losses(config, {}, 3);
  config.kernels = "auto";
  const auto got = losses(config, {}, 3);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
  EXPECT_LE(worst_error(*got, *expected), 5e-3);
  EXPECT_GT(worst_error(*got, *expected), 0) << "were kernels used?";
}

// What one device multiplies in all calls of a program, in multiply-adds, and how many calls.
struct Work {
  int64_t multiply_adds = 0, calls = 0, plain = 0;
};
Work work_of(const std::string& text) {
  Work work;
  const std::regex call(
      R"(@tessera\.matmul.*batch = array<i64(:? ?[^>]*)>, product = array<i64: (\d+), (\d+), (\d+))");
  const std::regex number(R"(-?\d+)");
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    int64_t product = std::stoll((*it)[2]) * std::stoll((*it)[3]) * std::stoll((*it)[4]);
    const std::string batch = (*it)[1];
    int place = 0;
    for (std::sregex_iterator n(batch.begin(), batch.end(), number); n != end; ++n) {
      if (place++ % 4 == 0) product *= std::stoll(n->str());
    }
    work.multiply_adds += product;
    ++work.calls;
  }
  for (size_t at = text.find("stablehlo.dot_general"); at != std::string::npos;
       at = text.find("stablehlo.dot_general", at + 1))
    ++work.plain;
  return work;
}

TEST(KernelsOnMeshes, EachDeviceMultipliesItsOwnPartAndNothingTwice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.kernels = "matmul";
  config.training.scan_layers = false;
  const auto whole = printed_step(config, {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  const Work one = work_of(*whole);
  EXPECT_GT(one.calls, 20);
  EXPECT_EQ(one.plain, 0);
  const Degrees all[] = {
      {{"data", 4}}, {{"fsdp", 4}}, {{"data", 2}, {"tensor", 2}}, {{"fsdp", 2}, {"tensor", 4}}};
  for (const Degrees& degrees : all) {
    int64_t devices = 1;
    for (const auto& [axis, degree] : degrees) devices *= degree;
    SCOPED_TRACE(degrees[0].first + std::to_string(degrees[0].second) + " of " +
                 std::to_string(devices));
    const auto text = printed_step(config, degrees);
    ASSERT_TRUE(text.ok()) << text.status();
    const Work part = work_of(*text);
    EXPECT_EQ(part.calls, one.calls);
    EXPECT_EQ(part.plain, 0);
    EXPECT_EQ(part.multiply_adds * devices, one.multiply_adds);
  }
}

TEST(KernelsOnMeshes, AreCalledInScansAndPipelines) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.kernels = "matmul";
  for (const Degrees& degrees : {Degrees{{"fsdp", 4}}, Degrees{{"stage", 2}, {"fsdp", 2}}}) {
    SCOPED_TRACE(degrees[0].first);
    const auto text = printed_step(config, degrees);
    ASSERT_TRUE(text.ok()) << text.status();
    const Work work = work_of(*text);
    EXPECT_GT(work.calls, 20);
    // How a pipeline's result lies is not known, and two products take it: docs/status.md.
    EXPECT_EQ(work.plain, degrees[0].first == "stage" ? 2 : 0);
  }
}

}  // namespace
}  // namespace tessera::parallel_testing
