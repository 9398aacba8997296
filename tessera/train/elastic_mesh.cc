#include "tessera/train/elastic_mesh.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr char kDoesNotFit[] = "tessera/does-not-fit";
const std::string kData = "data", kFsdp = "fsdp";

/// How many slices all devices may have been: as the recipe says, else one, or ones of the size
/// that is left of them.
std::vector<int64_t> slice_counts(const MeshConfig& mesh, const Slices& devices,
                                  int64_t all_devices) {
  const int64_t of_this_size = all_devices / std::ssize(devices.front());
  if (mesh.slices_from == MeshConfig::SlicesFrom::kProcess) return {of_this_size};
  if (mesh.num_slices) return {*mesh.num_slices};
  if (devices.size() > 1) return {of_this_size};
  return {1, of_this_size};
}

// The recipe's whole mesh. Of devices that are not there only the number counts.
Result<MeshConfig> resolved_for_all(const RunConfig& config, const Slices& devices,
                                    int64_t all_devices) {
  Result<MeshConfig> resolved = internal_error("no slices");
  for (const int64_t count : slice_counts(config.mesh, devices, all_devices)) {
    MeshConfig cut = config.mesh;
    cut.num_slices = count;
    ASSIGN_OR_RETURN(const Slices all, cut.slices(all_devices));
    resolved = config.mesh.resolved(all);
    if (resolved.ok()) break;
  }
  return resolved;
}

int64_t product(const MeshConfig& mesh, int64_t AxisDegrees::*tier) {
  int64_t result = 1;
  for (const AxisDegrees& axis : mesh.degrees) result *= axis.*tier;
  return result;
}

AxisDegrees& axis_of(MeshConfig& mesh, const std::string& name) {
  return *std::find_if(mesh.degrees.begin(), mesh.degrees.end(),
                       [&](const AxisDegrees& axis) { return axis.name == name; });
}

/// Degrees of fsdp and what is left for data, of `devices` in all.
std::vector<std::pair<int64_t, int64_t>> splits(int64_t devices, int64_t fsdp) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (int64_t degree = fsdp; degree <= devices; ++degree) {
    if (devices % degree == 0) result.push_back({degree, devices / degree});
  }
  for (int64_t degree = std::min(fsdp - 1, devices); degree >= 1; --degree) {
    if (devices % degree == 0) result.push_back({degree, devices / degree});
  }
  return result;
}

/// In how many parts a batch is computed, over devices and one after the other.
Result<int64_t> batch_parts(const RunConfig& config, const Mesh& mesh) {
  const std::string rows = "activation_batch";
  ASSIGN_OR_RETURN(const PartitionSpec spec,
                   config.mesh.rules().resolve(std::span(&rows, 1), mesh));
  int64_t parts = 1;
  for (const std::string& axis : spec.dims[0]) parts *= mesh.axis_size(axis);
  return parts;
}

// False where the batch cannot be cut so that none computes more than `rows` at once.
bool accumulate(RunConfig& config, int64_t parts, int64_t rows) {
  const int64_t batch = config.training.batch_size;
  for (int64_t steps = 1; steps * parts <= batch; ++steps) {
    if (batch % (steps * parts) != 0 || batch / (steps * parts) > rows) continue;
    config.training.gradient_accumulation_steps = steps;
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<RunConfig>> fits_for_fewer(const RunConfig& config, const Slices& devices,
                                              int64_t all_devices) {
  if (!config.mesh.axes.empty()) {
    return failed_precondition(
        "mesh_axes: a run with axes of its own cannot go on over fewer devices, since which of "
        "them may shrink is not known: use the usual axes");
  }
  ASSIGN_OR_RETURN(MeshConfig whole, resolved_for_all(config, devices, all_devices));
  RunConfig all = config;
  all.mesh = whole;
  ASSIGN_OR_RETURN(const Slices all_slices, whole.slices(all_devices));
  ASSIGN_OR_RETURN(const Mesh all_mesh, whole.mesh(all_slices));
  ASSIGN_OR_RETURN(const int64_t all_parts, batch_parts(all, all_mesh));
  const int64_t rows = std::max<int64_t>(
      1, config.training.batch_size / all_parts / config.training.gradient_accumulation_steps);

  AxisDegrees data = axis_of(whole, kData), fsdp = axis_of(whole, kFsdp);
  const int64_t others_ici = product(whole, &AxisDegrees::ici) / (data.ici * fsdp.ici);
  const int64_t others_dcn = product(whole, &AxisDegrees::dcn) / (data.dcn * fsdp.dcn);
  const int64_t ici = std::ssize(devices.front()), dcn = std::ssize(devices);
  std::vector<RunConfig> fits;
  if (ici % others_ici != 0 || dcn % others_dcn != 0) return fits;
  for (const auto& [fsdp_dcn, data_dcn] : splits(dcn / others_dcn, fsdp.dcn)) {
    for (const auto& [fsdp_ici, data_ici] : splits(ici / others_ici, fsdp.ici)) {
      RunConfig fit = config;
      fit.mesh = whole;
      fit.mesh.num_slices = dcn;
      AxisDegrees &new_data = axis_of(fit.mesh, kData), &new_fsdp = axis_of(fit.mesh, kFsdp);
      new_data.ici = data_ici, new_data.dcn = data_dcn;
      new_fsdp.ici = fsdp_ici, new_fsdp.dcn = fsdp_dcn;
      ASSIGN_OR_RETURN(const Mesh mesh, fit.mesh.mesh(devices));
      ASSIGN_OR_RETURN(const int64_t parts, batch_parts(fit, mesh));
      if (accumulate(fit, parts, rows)) fits.push_back(std::move(fit));
    }
  }
  const int64_t whole_fsdp = fsdp.ici * fsdp.dcn;
  std::stable_partition(fits.begin(), fits.end(), [&](RunConfig& fit) {
    const AxisDegrees& degree = axis_of(fit.mesh, kFsdp);
    return degree.ici * degree.dcn >= whole_fsdp;
  });
  return fits;
}

Status does_not_fit(const std::string& why) {
  Status status = absl::OutOfRangeError(why);
  status.SetPayload(kDoesNotFit, absl::Cord());
  return status;
}

bool is_does_not_fit(const Status& status) { return status.GetPayload(kDoesNotFit).has_value(); }

}  // namespace tessera
