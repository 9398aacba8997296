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

HostArray random_bits(Shape shape, std::mt19937& random) {
  HostArray array(std::move(shape));
  for (std::byte& byte : array.bytes()) {
    const auto bits = static_cast<uint8_t>(random());
    switch (array.shape().dtype) {
      case DType::kBool:
        byte = std::byte(bits & 1);
        break;
      case DType::kU4:
        byte = std::byte(bits & 15);
        break;
      case DType::kS4:
        byte = std::byte(static_cast<int8_t>(bits) >> 4);
        break;
      default:
        byte = std::byte(bits);
    }
  }
  if (!is_floating(array.shape().dtype)) return array;
  // Many of the floats are NaNs, quiet and signaling ones: the highest byte is the last.
  const auto width = static_cast<size_t>(dtype_host_bytes(array.shape().dtype));
  for (size_t i = width - 1; i < array.bytes().size(); i += width) {
    const auto choice = static_cast<uint8_t>(random());
    if (choice % 2 == 0) array.bytes()[i] = std::byte((choice & 0x80) | (choice & 2 ? 0x7F : 0x7D));
  }
  return array;
}

}  // namespace tessera::testing
