#pragma once

#include "tests/parallel/runs.h"

/// The meshes of eight devices that the documentation's table shows.
namespace tessera::parallel_testing {

struct MeshCase {
  std::string name;  ///< "fsdp 4 x context 2, ring"
  Degrees degrees;
  RunConfig config;
};
std::vector<MeshCase> mesh_cases();

/// The largest relative difference of ten losses from those of one device.
Result<double> error_against_one_device(const MeshCase& mesh);

}  // namespace tessera::parallel_testing
