#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ir/box.h"
#include "tessera/ir/shape.h"
#include "tessera/sharding/mesh.h"
#include "tessera/sharding/partition_spec.h"

namespace tessera {

/// Where each part of a tensor lives: a mesh and, a dimension, the axes that split it. Kept in
/// canonical form: axes of size one and trailing whole dimensions are dropped, so equal layouts
/// compare equal. An immutable value, cheap to copy; safe to use from several threads.
class NamedSharding {
 public:
  /// Errors: an axis that the mesh does not have, an axis used twice.
  static Result<NamedSharding> create(Mesh mesh, PartitionSpec spec);
  /// The whole tensor on every device.
  static NamedSharding replicated(Mesh mesh) { return NamedSharding(std::move(mesh), {}); }

  const Mesh& mesh() const { return mesh_; }
  const PartitionSpec& spec() const { return spec_; }
  bool is_fully_replicated() const { return spec_.dims.empty(); }

  /// Whether a tensor of this shape can be laid out so. An error names the dimension, its size, the
  /// axes and their sizes.
  Status check(const Shape& shape) const;
  /// Parts that dimension `dim` is split into.
  int64_t parts(int dim) const;
  /// Dimensions of each device's part of a tensor that check() accepts.
  Dims shard_dims(const Dims& dims) const;
  Shape shard_shape(const Shape& shape) const { return {shape.dtype, shard_dims(shape.dims)}; }
  /// What the device at `position` of the mesh holds of it.
  Box shard_box(const Dims& dims, int64_t position) const;
  /// Which of the copies of its part the device holds: 0 for the one with the lowest position.
  int64_t replica_id(int64_t position) const;
  /// Devices that hold the same part.
  int64_t num_replicas() const;

  bool operator==(const NamedSharding&) const = default;

 private:
  NamedSharding(Mesh mesh, PartitionSpec spec) : mesh_(std::move(mesh)), spec_(std::move(spec)) {}
  /// Which part of dimension `dim` belongs to the device with these mesh coordinates.
  int64_t part(size_t dim, const std::vector<int64_t>& coordinates) const;

  Mesh mesh_;
  PartitionSpec spec_;
};

/// "[fsdp,_] over data=2, fsdp=2".
std::string to_string(const NamedSharding& sharding, int rank = 0);

}  // namespace tessera
