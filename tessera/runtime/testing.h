#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tessera/ir/host_array.h"
#include "tessera/pjrt/testing.h"
#include "tessera/runtime/runtime.h"
#include "tessera/sharding/named_sharding.h"

/// For tests only.
namespace tessera::testing {

/// A runtime of the test's own over the process's shared test client, with
/// pjrt::testing::kTestDevices CPU devices.
Result<std::unique_ptr<Runtime>> test_runtime();

/// A mesh over the first devices of the test client; no axis may be -1.
Mesh test_mesh(std::vector<MeshAxis> axes);

/// A layout over `mesh` that is known to be right; CHECKs.
NamedSharding sharded(const Mesh& mesh, PartitionSpec spec);

/// Any bits that the dtype has: NaNs with payloads too.
HostArray random_bits(Shape shape, std::mt19937& random);

}  // namespace tessera::testing
