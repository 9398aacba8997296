#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/kernels/kernel.h"
#include "tessera/pjrt/client.h"
#include "tessera/runtime/jit.h"
#include "tessera/train/mesh_config.h"
#include "tessera/train/step.h"

/// Where the values of a run's programs live.
namespace tessera {

/// A mesh, the rules that split dimensions over it, and the kernels of its devices.
struct Layout {
  Mesh mesh;
  AxisRules rules;
  bool shard_optimizer_over_data = false;  ///< ZeRO-1 (Rajbhandari et al., 2020)
  KernelChoice kernels = {};               ///< What its devices call in the place of ops.
};

/// A device, and what it says of where it stands.
struct DevicePlace {
  int64_t id;
  std::optional<int64_t> slice_index;  ///< its attribute of that name
  int64_t process;
};
/// The slices that devices form: as the config says, else by their slice index or by their process,
/// else one. Errors: slices of different sizes, a number of slices that does not divide the
/// devices.
Result<Slices> device_slices(std::span<const DevicePlace> devices, const MeshConfig& config);
Result<Slices> device_slices(const pjrt::Client& client, const MeshConfig& config);

/// The layout that a resolved config makes of these slices.
Result<Layout> make_layout(const MeshConfig& resolved, const Slices& slices);

/// What the layers below need to lay out a value of a program of training.
LogicalValue logical_value(const ArgumentSpec& spec, const Layout& layout);
Result<ProgramValue> lay_out(const ArgumentSpec& spec, const Layout& layout);

/// Parts that a batch is cut into.
Result<int64_t> batch_shards(const Layout& layout);

/// An axis that would split a dimension, but does not divide it.
struct UnusedAxis {
  std::string path;
  int dim;
  int64_t size;  ///< of the dimension
  std::string dim_name;
  std::string axis;
  int64_t axis_size;
};
std::string to_string(const UnusedAxis& unused);
/// All of them in these values.
Result<std::vector<UnusedAxis>> unused_axes(std::span<const ArgumentSpec> specs,
                                            const Layout& layout);

/// What strict_sharding demands: that there is none. The error says what would fit.
Status check_strict_sharding(std::span<const UnusedAxis> unused);

/// A parameter that is whole along axes that could split it.
struct ReplicatedParam {
  std::string path;
  std::string spec;
  double bytes;        ///< of the whole
  double shard_bytes;  ///< that a device holds
  std::vector<std::string> axes;
};
/// Parameters ("params.*") that some axis larger than one does not split, other than data, diloco,
/// stage, and a recipe's own axis that no rule for a parameter names; the largest first.
Result<std::vector<ReplicatedParam>> replicated_params(std::span<const ArgumentSpec> specs,
                                                       const Layout& layout);
/// An error when those hold more than `tolerance` of all parameters' bytes; it lists the five
/// largest.
Status check_sharding_tolerance(std::span<const ArgumentSpec> specs, const Layout& layout,
                                double tolerance);

}  // namespace tessera
