#include "tessera/runtime/process_arrays.h"

#include <set>

#include "tessera/runtime/transfer.h"
#include "tessera/sharding/process_local.h"

namespace tessera {
namespace {

Status check_own(Runtime& runtime, const Mesh& mesh) {
  ASSIGN_OR_RETURN(const auto own, runtime.local_devices(mesh));
  if (static_cast<int64_t>(own.size()) == mesh.size()) return absl::OkStatus();
  return invalid_argument("of the ", mesh.size(), " devices of the process's own array only ",
                          own.size(), " are of process ", runtime.client().process_index());
}

// Where each device's part of `global_dims` lies in the data of this process.
std::vector<Holding> own_holdings(const NamedSharding& sharding, const ProcessLocalData& data) {
  std::vector<Holding> result;
  for (const auto& [position, box] : data.parts)
    result.push_back({sharding.mesh().device_ids()[position], box});
  return result;
}

}  // namespace

Result<HostArray> gather_to_host(Runtime& runtime, const Array& array) {
  std::set<int> processes;
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : runtime.client().devices()) {
    if (processes.insert(device.process_index()).second) ids.push_back(device.id());
  }
  const auto count = static_cast<int64_t>(ids.size());
  ASSIGN_OR_RETURN(const Mesh mesh, Mesh::create({{"processes", count}}, std::move(ids)));
  ASSIGN_OR_RETURN(const Array everywhere,
                   device_put(runtime, array, NamedSharding::replicated(mesh)));
  return everywhere.to_host();
}

Result<Array> process_local_to_global(Runtime& runtime, const Array& local,
                                      const NamedSharding& sharding,
                                      const std::optional<Dims>& global_dims) {
  RETURN_IF_ERROR(local.check_alive());
  if (local.sharding() == sharding) return local;
  RETURN_IF_ERROR(check_own(runtime, local.sharding().mesh()));
  ASSIGN_OR_RETURN(const auto process_of, runtime.processes(sharding.mesh()));
  const Dims& dims = local.shape().dims;
  ASSIGN_OR_RETURN(
      const ProcessLocalData data,
      fit_process_local(sharding, dims, global_dims, process_of, runtime.client().process_index()));
  const Shape shape{local.shape().dtype, data.global_dims};
  if (data.parts.empty()) return Array::from_pieces(shape, sharding, {});
  auto to = own_holdings(sharding, data);
  return transfer(runtime, local,
                  {.from = holdings(local.sharding(), dims),
                   .to = std::move(to),
                   .shape = shape,
                   .sharding = sharding});
}

Result<Array> global_to_process_local(Runtime& runtime, const Array& global,
                                      const NamedSharding& sharding) {
  RETURN_IF_ERROR(global.check_alive());
  if (global.sharding() == sharding) return global;
  RETURN_IF_ERROR(check_own(runtime, sharding.mesh()));
  const Mesh& mesh = global.sharding().mesh();
  ASSIGN_OR_RETURN(const auto process_of, runtime.processes(mesh));
  const int64_t process = runtime.client().process_index();
  ASSIGN_OR_RETURN(const Dims dims,
                   process_local_dims(global.sharding(), global.shape().dims, process_of, process));
  ASSIGN_OR_RETURN(
      const ProcessLocalData data,
      fit_process_local(global.sharding(), dims, global.shape().dims, process_of, process));
  const Shape shape{global.shape().dtype, dims};
  RETURN_IF_ERROR(sharding.check(shape));
  auto from = own_holdings(global.sharding(), data);
  return transfer(runtime, global,
                  {.from = std::move(from),
                   .to = holdings(sharding, dims),
                   .shape = shape,
                   .sharding = sharding});
}

}  // namespace tessera
