#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ir/op.h"
#include "tessera/sharding/mesh.h"
#include "tessera/sharding/partition_spec.h"

namespace tessera {

// How a program says where its values live. Shapes of programs are global; only a manual region
// sees local ones.

/// The same value, laid out over the mesh as the rules say for the dimensions' logical names: ""
/// leaves a dimension replicated. Resolved when the program is printed for a mesh; without a mesh
/// it is the identity.
Value constrain(Value x, std::vector<std::string> logical_names);
/// The same with the mesh axes themselves.
Value constrain_axes(Value x, PartitionSpec spec);

struct ConstrainAttrs {
  std::vector<std::string> logical_names;  ///< one for each dimension, or empty when `spec` is used
  PartitionSpec spec;
};
extern const OpDef kConstrain;

struct ManualOptions {
  Mesh mesh;                      ///< that which the program is compiled for
  std::vector<PartitionSpec> in;  ///< one for each argument
  std::vector<PartitionSpec>
      out;  ///< one for each result; it must be equal along manual axes that it leaves out
  /// The manual axes, which alone the specs may name; empty: all of the mesh. Along the others a
  /// value stays one whole, which the partitioner splits, and constraints in the body may name
  /// them. A region inside another one must name its axes, and the two must share none.
  std::vector<std::string> axes = {};

  /// The manual ones that are larger than one, in the mesh's order.
  std::vector<std::string> manual_axes() const;
};
using ManualBody = std::function<std::vector<Value>(std::span<const Value> local)>;
/// Runs `body` on each device's own shards, with the collectives below to exchange them: what JAX
/// calls shard_map. Values used from outside come in replicated. Gradients: the cotangent of an
/// argument is summed over the axes along which it was replicated.
std::vector<Value> manual_region(const ManualOptions& options, std::span<const Value> args,
                                 const ManualBody& body);
extern const OpDef kManualRegion;

// Collectives, inside a manual region only. `mesh` is that of the region's options; `axes` name the
// mesh axes whose devices exchange; rank order is row-major.

/// Sum over the devices along the axes, on each of them.
Value psum(Value x, const Mesh& mesh, std::vector<std::string> axes);
/// Maximum, minimum over them. No gradient.
Value pmax(Value x, const Mesh& mesh, std::vector<std::string> axes);
Value pmin(Value x, const Mesh& mesh, std::vector<std::string> axes);
/// Joins the devices' shards along `dim`: [.., n, ..] → [.., n * devices, ..].
Value all_gather(Value x, const Mesh& mesh, const std::string& axis, int dim);
/// Sums, and keeps each device's piece of `dim`: [.., n, ..] → [.., n / devices, ..].
Value psum_scatter(Value x, const Mesh& mesh, const std::string& axis, int dim);
/// Splits `split_dim` among the devices and joins what they send along `concat_dim`.
Value all_to_all(Value x, const Mesh& mesh, const std::string& axis, int split_dim, int concat_dim);
/// Sends to the devices that `pairs` (source, target along the axis) say; who receives nothing gets
/// zeros.
Value ppermute(Value x, const Mesh& mesh, const std::string& axis,
               const std::vector<std::pair<int64_t, int64_t>>& pairs);
/// This device's place along the axis: s32[]. `like` is any value of the region.
Value axis_index(Value like, const Mesh& mesh, const std::string& axis);

struct ManualAttrs {
  ManualOptions options;
};
struct CollectiveAttrs {
  Mesh mesh;
  std::vector<std::string> axes;
  int dim = 0;
  int concat_dim = 0;
  std::vector<std::pair<int64_t, int64_t>> pairs;

  /// Devices along the axes.
  int64_t group_size() const;
  /// For each group its device positions in the mesh (row-major), in rank order.
  std::vector<std::vector<int64_t>> groups() const;
};
extern const OpDef kPsum, kPmax, kPmin, kAllGather, kPsumScatter, kAllToAll, kPpermute, kAxisIndex;

}  // namespace tessera
