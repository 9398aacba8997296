#include "tessera/runtime/testing.h"

namespace tessera::testing {

Result<std::unique_ptr<Runtime>> test_runtime() {
  ASSIGN_OR_RETURN(pjrt::Client * client, pjrt::testing::test_client());
  // Shared with the whole process, so not owned.
  return std::make_unique<Runtime>(
      std::shared_ptr<const pjrt::Client>(std::shared_ptr<void>(), client));
}

Mesh test_mesh(std::vector<MeshAxis> axes) {
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  auto mesh = Mesh::create(std::move(axes), devices);
  CHECK_MSG(mesh.ok(), mesh.status().ToString());
  return *mesh;
}

NamedSharding sharded(const Mesh& mesh, PartitionSpec spec) {
  auto result = NamedSharding::create(mesh, std::move(spec));
  CHECK_MSG(result.ok(), result.status().ToString());
  return *result;
}

}  // namespace tessera::testing
