#include "tests/parallel/meshes.h"

#include <gtest/gtest.h>

#include "tessera/pjrt/testing.h"

namespace tessera::parallel_testing {
namespace {

// One test a mesh, since compiling takes its time.
class Meshes : public ::testing::TestWithParam<int> {};

TEST_P(Meshes, GiveTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const MeshCase mesh = mesh_cases()[GetParam()];
  SCOPED_TRACE(mesh.name);
  const auto error = error_against_one_device(mesh);
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_LE(*error, 1e-5);
}

// bf16 rounds to 3 digits, and a mesh adds up in another order: the losses part by about that much.
TEST(MeshesInBf16, StayNearOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  int tried = 0;
  for (MeshCase mesh : mesh_cases()) {
    const bool wanted = mesh.name == "fsdp 4 x tensor 2" ||
                        mesh.name == "fsdp 4 x context 2, ring" ||
                        mesh.name == "stage 4 x data 2, circular, 4 microbatches";
    if (!wanted) continue;
    ++tried;
    SCOPED_TRACE(mesh.name);
    RunConfig one = mesh.config;
    one.mesh = MeshConfig();
    const auto f32 = losses(one, {}, 3);
    one.training.dtype = mesh.config.training.dtype = ComputeType::kBf16;
    const auto expected = losses(one, {}, 3), got = losses(mesh.config, mesh.degrees, 3);
    ASSERT_TRUE(f32.ok() && expected.ok() && got.ok()) << got.status();
    EXPECT_LE(worst_error(*got, *expected), 5e-3);
    EXPECT_GT(worst_error(*expected, *f32), 1e-6) << "computed in f32?";
  }
  EXPECT_EQ(tried, 3);
}

INSTANTIATE_TEST_SUITE_P(OfEightDevices, Meshes,
                         ::testing::Range(0, static_cast<int>(mesh_cases().size())));

}  // namespace
}  // namespace tessera::parallel_testing
