#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/sharding/mesh.h"

/// Meshes over slices: groups of devices with a fast interconnect inside ("ici") and a slower
/// network between them ("dcn"). Each axis has a degree in either tier, and its size is the product
/// of the two.
namespace tessera {

/// How far an axis goes inside a slice and across slices. -1: what the tier's others leave.
struct AxisDegrees {
  std::string name;
  int64_t ici = 1;
  int64_t dcn = 1;
  std::string ici_key, dcn_key;  ///< what a user calls them, for messages
  bool is_fixed = false;         ///< no degree but 1 is possible
  /// The degrees of all axes are one list a tier ("ici_parallelism=[2, 4]"); keys are "LIST of
  /// AXIS".
  bool is_listed = false;

  bool operator==(const AxisDegrees&) const = default;
};

/// Ids of the devices of each slice, all slices of one size.
using Slices = std::vector<std::vector<int64_t>>;

/// Cuts the list into `count` slices of neighbours. An error says which counts would fit.
Result<Slices> even_slices(std::span<const int64_t> device_ids, int64_t count);

/// That each degree is positive or -1, and at most one of a tier -1. Errors name the tier and keys.
Status check_degrees(std::span<const AxisDegrees> axes);

/// The same with each tier's -1 filled in. Errors name the tier, the keys, the product and the
/// target, and a value that would fit: those of check_degrees(), a product that is not the number
/// of devices of a slice (of slices); more than one across slices where there is one slice.
Result<std::vector<AxisDegrees>> resolve_degrees(std::vector<AxisDegrees> axes,
                                                 int64_t devices_per_slice, int64_t slices);

/// The mesh of resolved degrees. Along each axis the slices are outermost: neighbours inside a
/// slice are neighbours in the mesh. A slice's devices are laid out row-major.
Result<Mesh> hybrid_mesh(std::span<const AxisDegrees> axes, const Slices& slices);

}  // namespace tessera
