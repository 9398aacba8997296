// Kernels on meshes: each device's calls are for its own part, and give what XLA's own code gives.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <regex>

#include "tessera/kernels/kernel_testing.h"
#include "tessera/pjrt/testing.h"
#include "tests/parallel/meshes.h"

namespace tessera::parallel_testing {
namespace {

using tessera::testing::every_kernel;

// One test a mesh, since compiling takes its time.
class KernelsOnMeshes : public ::testing::TestWithParam<int> {};

TEST_P(KernelsOnMeshes, GiveTheLossesOfOneDeviceWithoutKernels) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  MeshCase mesh = mesh_cases()[GetParam()];
  SCOPED_TRACE(mesh.name);
  mesh.config.kernels = every_kernel();
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
  config.kernels = every_kernel();
  const auto got = losses(config, {}, 3);
  ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
  EXPECT_LE(worst_error(*got, *expected), 5e-3);
  EXPECT_GT(worst_error(*got, *expected), 0) << "were kernels used?";
}

// Gradients are what one step of gradient descent takes from the weights.
std::map<std::string, std::vector<double>> gradients_of(const RunConfig& config,
                                                        const Degrees& degrees) {
  constexpr float kRate = 64;
  const auto run = short_run(config, degrees, {.steps = 1, .learning_rate = kRate});
  EXPECT_TRUE(run.ok()) << run.status();
  if (!run.ok()) return {};
  std::map<std::string, std::vector<double>> grads;
  for (const auto& [path, before] : run->before) {
    const std::vector<double>& after = run->after.at(path);
    for (size_t i = 0; i < before.size(); ++i)
      grads[path].push_back((before[i] - after[i]) / kRate);
  }
  return grads;
}

// Each weight's gradient with kernels against that without: their distance and their scale.
void expect_same_gradients(RunConfig config, const Degrees& degrees, double most, double scale) {
  config.optimizer.kind = OptimizerKind::kSgd;
  config.optimizer.momentum = 0.0;
  config.optimizer.weight_decay = 0;
  config.optimizer.clip_norm = 0;
  config.kernels = "off";
  const auto wanted = gradients_of(config, degrees);
  config.kernels = every_kernel();
  const auto got = gradients_of(config, degrees);
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(got.size(), wanted.size());
  double total = 0;
  for (const auto& [path, expected] : wanted) {
    double apart = 0, along = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      const double difference = got.at(path)[i] - expected[i];
      apart += difference * difference;
      along += got.at(path)[i] * expected[i];
      size += expected[i] * expected[i];
    }
    EXPECT_GT(size, 0) << path;
    EXPECT_LE(std::sqrt(apart / size), most) << path;
    EXPECT_NEAR(along / size, 1, scale) << path;
    total += apart;
  }
  EXPECT_GT(total, 0) << "were kernels used?";
}

TEST(KernelsInAModel, GiveTheGradientsOfTheOpsInF32) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.z_loss = 1e-3;
  expect_same_gradients(config, {}, 1e-5, 1e-5);
  config.training.scan_layers = false;
  config.training.remat = "full";
  expect_same_gradients(config, {{"data", 2}, {"fsdp", 2}}, 1e-5, 1e-5);
}

// A window, a cap, GeGLU and grouped heads, over documents.
TEST(KernelsInAModel, GiveTheGradientsOfTheOpsInOtherModels) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.model.llama.kv_heads = 2;
  config.model.llama.sliding_window = 5;
  config.model.llama.attention_soft_cap = 0.5;
  config.model.llama.activation = Activation::kGelu;
  expect_same_gradients(config, {}, 1e-5, 1e-5);
  expect_same_gradients(config, {{"fsdp", 2}, {"tensor", 2}}, 1e-5, 1e-5);
  expect_same_gradients(config, {{"context", 4}}, 1e-5, 1e-5);
}

TEST(KernelsInAModel, GiveTheGradientsOfTheOpsInBf16) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.training.dtype = ComputeType::kBf16;
  config.training.scan_layers = false;
  expect_same_gradients(config, {}, 2e-2, 2e-3);
}

// AdamW in place, from the layers' own gradients: on one device only.
TEST(KernelsInAModel, TrainByAdamwOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const bool scan : {true, false}) {
    RunConfig config = small_config();
    config.training.scan_layers = scan;
    const auto expected = short_run(config, {}, {.steps = 5});
    config.kernels = every_kernel();
    const auto got = short_run(config, {}, {.steps = 5});
    ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
    EXPECT_LE(worst_error(got->losses, expected->losses), 1e-5);
    const auto text = printed_step(config, {});
    ASSERT_TRUE(text.ok()) << text.status();
    for (const char* target :
         {"tessera.adamw", "tessera.sums_of_squares", "tessera.add_rms_norm",
          "tessera.rms_norm_gradient", "tessera.swiglu_gradient", "tessera.cross_entropy_gradient",
          "tessera.attention_backward", "tessera.matmul"})
      EXPECT_NE(text->find(target), std::string::npos) << target;
  }
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
