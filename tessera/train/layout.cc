#include "tessera/train/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/base/format.h"

namespace tessera {
namespace {

std::optional<int64_t> slice_index(const pjrt::Device& device) {
  for (const pjrt::NamedValue& attribute : device.attributes()) {
    if (attribute.name != "slice_index") continue;
    if (const auto* index = std::get_if<int64_t>(&attribute.value)) return *index;
  }
  return std::nullopt;
}

bool is_param(const ArgumentSpec& spec) { return spec.path.starts_with("params."); }

// Copies along these axes are what they are for, or, for stages, of what stands outside of them.
bool is_for_copies(const std::string& axis) {
  return axis == "data" || axis == "diloco" || axis == "stage";
}

// The axes that would split parameters where they can. Of a recipe's own axes those that no rule
// for a parameter names are for copies.
std::vector<std::string> splitting_axes(std::span<const ArgumentSpec> specs, const Layout& layout) {
  std::set<std::string> dims, ruled;
  for (const ArgumentSpec& spec : specs) {
    if (is_param(spec)) dims.insert(spec.names.begin(), spec.names.end());
  }
  for (const AxisRule& rule : layout.rules.rules()) {
    if (dims.contains(rule.name)) ruled.insert(rule.axes.begin(), rule.axes.end());
  }
  std::vector<std::string> axes;
  for (const MeshAxis& axis : layout.mesh.axes()) {
    const bool wanted = ruled.contains(axis.name) || is_usual_axis(axis.name);
    if (axis.size > 1 && wanted && !is_for_copies(axis.name)) axes.push_back(axis.name);
  }
  return axes;
}

bool splits(const PartitionSpec& spec, const std::string& axis) {
  return std::any_of(spec.dims.begin(), spec.dims.end(), [&](const auto& axes) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  });
}

}  // namespace

Result<Slices> device_slices(std::span<const DevicePlace> devices, const MeshConfig& config) {
  std::vector<int64_t> ids;
  std::map<int64_t, std::vector<int64_t>> by_slice;
  for (const DevicePlace& device : devices) {
    ids.push_back(device.id);
    const int64_t slice = config.slices_from == MeshConfig::SlicesFrom::kProcess
                              ? device.process
                              : device.slice_index.value_or(0);
    by_slice[slice].push_back(device.id);
  }
  if (config.num_slices) return even_slices(ids, *config.num_slices);
  Slices slices;
  for (auto& [slice, members] : by_slice) slices.push_back(std::move(members));
  for (const auto& slice : slices) {
    if (slice.size() == slices[0].size()) continue;
    return invalid_argument("mesh: one slice has ", slices[0].size(), " devices and another ",
                            slice.size(),
                            ": slices must be of one size; num_slices=1 takes all devices as one");
  }
  return slices;
}

Result<Slices> device_slices(const pjrt::Client& client, const MeshConfig& config) {
  std::vector<DevicePlace> places;
  for (const pjrt::Device& device : client.devices())
    places.push_back({device.id(), slice_index(device), device.process_index()});
  return device_slices(places, config);
}

Result<Layout> make_layout(const MeshConfig& resolved, const Slices& slices) {
  ASSIGN_OR_RETURN(Mesh mesh, resolved.mesh(slices));
  AxisRules rules = resolved.rules();
  RETURN_IF_ERROR(rules.validate(mesh));
  return Layout{std::move(mesh), std::move(rules), resolved.shard_optimizer_over_data, {}};
}

LogicalValue logical_value(const ArgumentSpec& spec, const Layout& layout) {
  LogicalValue value = {.path = spec.path, .dim_names = spec.names, .spread = {}};
  const bool spreads = layout.shard_optimizer_over_data && spec.path.starts_with("optimizer.") &&
                       layout.mesh.find_axis("data");
  if (spreads) value.spread = {"data"};
  return value;
}

Result<ProgramValue> lay_out(const ArgumentSpec& spec, const Layout& layout) {
  return lay_out(logical_value(spec, layout), spec.shape, layout.rules, layout.mesh);
}

Result<int64_t> batch_shards(const Layout& layout) {
  const std::string name = "activation_batch";
  ASSIGN_OR_RETURN(const PartitionSpec spec,
                   layout.rules.resolve(std::span(&name, 1), layout.mesh));
  int64_t parts = 1;
  for (const std::string& axis : spec.dims[0]) parts *= layout.mesh.axis_size(axis);
  return parts;
}

std::string to_string(const UnusedAxis& unused) {
  return str_cat(unused.path, ": dimension ", unused.dim, " of ", unused.size,
                 " cannot be split over ", unused.axis, "=", unused.axis_size,
                 " and stays whole along it");
}

Result<std::vector<UnusedAxis>> unused_axes(std::span<const ArgumentSpec> specs,
                                            const Layout& layout) {
  const AxisRules rules = layout.rules.with(Indivisible::kDrop);
  std::vector<UnusedAxis> unused;
  for (const ArgumentSpec& spec : specs) {
    ASSIGN_OR_RETURN(const ResolvedSpec resolved,
                     rules.resolve(spec.names, std::span(spec.shape.dims).first(spec.names.size()),
                                   layout.mesh));
    for (const DroppedAxis& dropped : resolved.dropped) {
      unused.push_back({spec.path, dropped.dim, spec.shape.dims[dropped.dim],
                        spec.names[dropped.dim], dropped.axis,
                        layout.mesh.axis_size(dropped.axis)});
    }
  }
  return unused;
}

Status check_strict_sharding(std::span<const UnusedAxis> unused) {
  if (unused.empty()) return absl::OkStatus();
  const UnusedAxis& first = unused[0];
  const int64_t next = (first.size / first.axis_size + 1) * first.axis_size;
  return invalid_argument(first.path, ": dimension ", first.dim, " (", first.dim_name, ") of ",
                          first.size, " cannot be split over ", first.axis, "=", first.axis_size,
                          ", which strict_sharding=true forbids: use a multiple of ",
                          first.axis_size, " for it, such as ", next,
                          ", a smaller degree, or strict_sharding=false");
}

Result<std::vector<ReplicatedParam>> replicated_params(std::span<const ArgumentSpec> specs,
                                                       const Layout& layout) {
  const std::vector<std::string> axes = splitting_axes(specs, layout);
  std::vector<ReplicatedParam> replicated;
  for (const ArgumentSpec& spec : specs) {
    if (!is_param(spec)) continue;
    ASSIGN_OR_RETURN(const ProgramValue value, lay_out(spec, layout));
    ReplicatedParam param = {
        .path = spec.path,
        .spec = to_string(value.sharding.spec(), spec.shape.rank()),
        .bytes = static_cast<double>(spec.shape.host_bytes()),
        .shard_bytes = static_cast<double>(value.sharding.shard_shape(spec.shape).host_bytes()),
        .axes = {}};
    for (const std::string& axis : axes) {
      if (!splits(value.sharding.spec(), axis)) param.axes.push_back(axis);
    }
    if (!param.axes.empty()) replicated.push_back(std::move(param));
  }
  std::stable_sort(replicated.begin(), replicated.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return replicated;
}

Status check_sharding_tolerance(std::span<const ArgumentSpec> specs, const Layout& layout,
                                double tolerance) {
  ASSIGN_OR_RETURN(const std::vector<ReplicatedParam> replicated, replicated_params(specs, layout));
  double total = 0, whole = 0;
  for (const ArgumentSpec& spec : specs) {
    if (is_param(spec)) total += static_cast<double>(spec.shape.host_bytes());
  }
  for (const ReplicatedParam& param : replicated) whole += param.bytes;
  if (whole <= tolerance * total) return absl::OkStatus();
  std::string largest;
  for (size_t i = 0; i < std::min<size_t>(5, replicated.size()); ++i) {
    const ReplicatedParam& param = replicated[i];
    str_append(&largest, "\n  ", param.path, " ", param.spec, ", ", bytes_text(param.bytes),
               ", whole along ", absl::StrJoin(param.axes, ", "));
  }
  return invalid_argument(absl::StrFormat(
      "%.1f %% of the parameters' bytes (%s of %s) are whole along a mesh axis that "
      "could split them, more than sharding_tolerance allows (%.1f %%). Change the "
      "model's sizes, the degrees or axis_rules, or set sharding_tolerance=%.2f. "
      "The largest:%s",
      100 * whole / total, bytes_text(whole), bytes_text(total), 100 * tolerance,
      std::min(1.0, whole / total + 0.005), largest));
}

}  // namespace tessera
