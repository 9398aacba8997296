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

INSTANTIATE_TEST_SUITE_P(OfEightDevices, Meshes,
                         ::testing::Range(0, static_cast<int>(mesh_cases().size())));

}  // namespace
}  // namespace tessera::parallel_testing
