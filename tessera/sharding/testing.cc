#include "tessera/sharding/testing.h"

#include <algorithm>

namespace tessera::testing {
namespace {

// Not std::uniform_int_distribution, whose numbers differ between libraries.
int64_t below(std::mt19937& random, int64_t end) { return random() % end; }

}  // namespace

Dims random_dims(std::mt19937& random) {
  Dims dims(below(random, 4));
  for (int64_t& size : dims) size = below(random, 20) == 0 ? 0 : 24 * (1 + below(random, 2));
  return dims;
}

NamedSharding random_sharding(std::mt19937& random, std::span<const int64_t> device_ids,
                              const Dims& dims) {
  static const std::vector<std::vector<int64_t>> grids = {
      {1}, {2}, {3}, {4}, {2, 2}, {2, 3}, {6}, {8}, {4, 2}, {2, 4}, {2, 2, 2}};
  std::vector<int64_t> sizes;
  int64_t count = 0;
  do {
    sizes = grids[below(random, static_cast<int64_t>(grids.size()))];
    count = 1;
    for (int64_t size : sizes) count *= size;
  } while (count > static_cast<int64_t>(device_ids.size()));
  std::vector<int64_t> ids(device_ids.begin(), device_ids.end());
  for (size_t i = ids.size(); i-- > 1;)
    std::swap(ids[i], ids[below(random, static_cast<int64_t>(i) + 1)]);
  ids.resize(count);
  std::vector<MeshAxis> axes;
  PartitionSpec spec;
  spec.dims.resize(dims.size());
  for (int64_t size : sizes) {
    const std::string name = str_cat("axis", axes.size());
    axes.push_back({name, size});
    const int64_t dim = below(random, static_cast<int64_t>(dims.size()) + 1);  // the last: none
    if (dim < static_cast<int64_t>(dims.size())) spec.dims[dim].push_back(name);
  }
  auto mesh = Mesh::create(std::move(axes), std::move(ids));
  CHECK_MSG(mesh.ok(), mesh.status().ToString());
  auto sharding = NamedSharding::create(*std::move(mesh), std::move(spec));
  CHECK_MSG(sharding.ok(), sharding.status().ToString());
  return *std::move(sharding);
}

}  // namespace tessera::testing
