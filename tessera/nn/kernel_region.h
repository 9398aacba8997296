#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ops/control.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/sharding/mesh.h"
#include "tessera/sharding/partition_spec.h"

namespace tessera {

/// The kernels whose calls layers build instead of ops, and the mesh that they are traced for.
/// None unless said otherwise; docs/kernels.md.
struct KernelUse {
  std::vector<std::string> names;
  int threads = 1;  ///< of a call
  std::optional<Mesh> mesh = {};
  AxisRules rules = {};
  /// Mesh axes that are manual where the layers stand.
  std::vector<std::string> manual_axes = {};

  bool has(std::string_view name) const;
};
/// Null: none.
using Kernels = std::shared_ptr<const KernelUse>;

/// Where a kernel's calls stand on a mesh: in a region that is manual along all axes that are not
/// yet, since the partitioner does not know what a call does. Without a mesh the region is nothing
/// and specs are empty.
class KernelRegion {
 public:
  explicit KernelRegion(const KernelUse& use);

  /// How a value of these dims lies by the rules for these names, along axes that divide it evenly;
  /// where one does not, its devices do the same work. Throws TraceError.
  PartitionSpec spec(const std::vector<std::string>& names, const Dims& dims) const;
  /// The body on each device's parts.
  std::vector<Value> run(std::vector<PartitionSpec> in, std::vector<PartitionSpec> out,
                         std::span<const Value> args, const ManualBody& body) const;
  /// Inside it: the sum over the devices along axes, in f32.
  Value sum(Value x, const std::vector<std::string>& axes) const;
  /// Whether all is on one device.
  bool is_whole() const { return axes_.empty(); }

  /// "threads = 2 : i64" in braces, behind `more`, which ends with a comma or is empty.
  std::string config(const std::string& more = "") const;

 private:
  KernelUse use_;
  std::vector<std::string> axes_;
};

}  // namespace tessera
