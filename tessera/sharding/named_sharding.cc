#include "tessera/sharding/named_sharding.h"

#include <set>

namespace tessera {

std::string to_string(const NamedSharding& sharding, int rank) {
  return str_cat(to_string(sharding.spec(), rank), " over ", to_string(sharding.mesh()));
}

Result<NamedSharding> NamedSharding::create(Mesh mesh, PartitionSpec spec) {
  std::set<std::string> used;
  PartitionSpec canonical;
  for (const auto& axes : spec.dims) {
    auto& kept = canonical.dims.emplace_back();
    for (const std::string& axis : axes) {
      if (!mesh.find_axis(axis)) {
        return invalid_argument("sharding ", to_string(spec), ": the mesh has no axis '", axis,
                                "'; its axes are ", axis_names(mesh));
      }
      if (!used.insert(axis).second) {
        return invalid_argument("sharding ", to_string(spec), " uses axis '", axis,
                                "' twice; an axis can split one dimension only");
      }
      if (mesh.axis_size(axis) > 1) kept.push_back(axis);
    }
  }
  while (!canonical.dims.empty() && canonical.dims.back().empty()) canonical.dims.pop_back();
  return NamedSharding(std::move(mesh), std::move(canonical));
}

Status NamedSharding::check(const Shape& shape) const {
  if (spec_.dims.size() > shape.dims.size()) {
    return invalid_argument("sharding ", to_string(spec_), " splits dimension ",
                            spec_.dims.size() - 1, ", but ", to_string(shape), " has ",
                            shape.rank(), " dimensions");
  }
  for (size_t dim = 0; dim < spec_.dims.size(); ++dim) {
    const int64_t count = parts(static_cast<int>(dim));
    if (shape.dims[dim] % count == 0) continue;
    std::string axes;
    for (const std::string& axis : spec_.dims[dim]) {
      str_append(&axes, axes.empty() ? "" : ", ", axis, "=", mesh_.axis_size(axis));
    }
    return invalid_argument("dimension ", dim, " of ", to_string(shape), " has size ",
                            shape.dims[dim], ", which is not divisible by ", count,
                            ", the product of the mesh axes that split it (", axes, ")");
  }
  return absl::OkStatus();
}

int64_t NamedSharding::parts(int dim) const {
  if (static_cast<size_t>(dim) >= spec_.dims.size()) return 1;
  int64_t count = 1;
  for (const std::string& axis : spec_.dims[dim]) count *= mesh_.axis_size(axis);
  return count;
}

Dims NamedSharding::shard_dims(const Dims& dims) const {
  Dims result = dims;
  for (size_t dim = 0; dim < spec_.dims.size(); ++dim) result[dim] /= parts(static_cast<int>(dim));
  return result;
}

int64_t NamedSharding::part(size_t dim, const std::vector<int64_t>& coordinates) const {
  int64_t part = 0;
  for (const std::string& axis : spec_.dims[dim]) {
    part = part * mesh_.axis_size(axis) + coordinates[*mesh_.find_axis(axis)];
  }
  return part;
}

Box NamedSharding::shard_box(const Dims& dims, int64_t position) const {
  const auto coordinates = mesh_.coordinates(position);
  Box box{Dims(dims.size(), 0), shard_dims(dims)};
  for (size_t dim = 0; dim < spec_.dims.size(); ++dim) {
    box.start[dim] = part(dim, coordinates) * box.dims[dim];
  }
  return box;
}

int64_t NamedSharding::replica_id(int64_t position) const {
  std::set<std::string> splitting;
  for (const auto& axes : spec_.dims) splitting.insert(axes.begin(), axes.end());
  const auto coordinates = mesh_.coordinates(position);
  // The copies differ only in the axes that split nothing, which keep their order.
  int64_t replica = 0;
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const MeshAxis& axis = mesh_.axes()[i];
    if (!splitting.contains(axis.name)) replica = replica * axis.size + coordinates[i];
  }
  return replica;
}

int64_t NamedSharding::num_replicas() const {
  int64_t shards = 1;
  for (size_t dim = 0; dim < spec_.dims.size(); ++dim) shards *= parts(static_cast<int>(dim));
  return mesh_.size() / shards;
}

}  // namespace tessera
