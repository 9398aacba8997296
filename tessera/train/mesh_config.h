#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/sharding/hybrid_mesh.h"
#include "tessera/sharding/partition_spec.h"

namespace tessera {

/// Whether this is one of the axes that a mesh has where the recipe names none of its own.
bool is_usual_axis(std::string_view axis);

/// How devices are arranged, and which mesh axes split which dimension. The degrees are keys of
/// their own, `ici_<axis>_parallelism` inside a slice and `dcn_<axis>_parallelism` across slices;
/// or a recipe names its own axes, with a list of degrees a tier.
struct MeshConfig {
  /// Where a slice ends.
  enum class SlicesFrom { kDevice, kProcess };

  MeshConfig();

  std::vector<AxisDegrees> degrees;  ///< of the usual axes, in mesh order
  int64_t ici_sequence = 1;          ///< a key that MaxText has; no axis of the mesh
  int64_t dcn_sequence = 1;
  std::vector<std::string> axes;  ///< the recipe's own, in place of the usual ones
  std::vector<int64_t> ici, dcn;  ///< their degrees
  std::optional<int64_t> num_slices;
  SlicesFrom slices_from = SlicesFrom::kDevice;
  int64_t single_slice_replicas = 1;  ///< Data-parallel parts that a single slice is split into.
  ConfigNamedLists axis_rules;        ///< In place of default_axis_rules() of the same names.
  bool override_axis_rules = false;   ///< axis_rules are the whole table.
  bool strict_sharding = false;
  double sharding_tolerance = 0.02;
  bool shard_optimizer_over_data = false;

  /// The degree of a usual axis inside a slice; CHECKs that there is such an axis.
  int64_t& ici_degree(std::string_view axis);

  void fields(ConfigFields& f);
  /// What needs no devices.
  Status validate() const;
  /// Devices 0 ... devices - 1, of which nothing else is known, as slices.
  Result<Slices> slices(int64_t devices) const;
  /// Over these devices: with every -1 filled in. Errors are those of resolve_degrees() and
  /// even_slices().
  Result<MeshConfig> resolved(const Slices& slices) const;
  /// The mesh of a resolved one.
  Result<Mesh> mesh(const Slices& slices) const;
  /// The axes with their degrees, in mesh order.
  std::vector<AxisDegrees> axis_degrees() const;
  /// "data, fsdp, ...": the axes that there are, whatever their degrees.
  std::vector<std::string> axis_names() const;

  /// default_axis_rules(), less the axes that own mesh_axes do not name, with `axis_rules` in their
  /// places; or those alone, and a dimension that they do not name is whole.
  AxisRules rules() const;

 private:
  Status validate_axis_lists() const;
  Status validate_rules() const;
  AxisRules usual_rules() const;
};

}  // namespace tessera
