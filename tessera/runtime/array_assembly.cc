#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/runtime/array.h"
#include "tessera/sharding/process_local.h"

namespace tessera {
namespace {

// That there are buffers on exactly the devices that must have one.
Status check_devices(const std::vector<Runtime::LocalDevice>& required,
                     const std::map<int64_t, size_t>& got) {
  std::vector<int64_t> missing, without_place;
  std::set<int64_t> wanted;
  for (const auto& [position, device] : required) {
    wanted.insert(device.id());
    if (!got.contains(device.id())) missing.push_back(device.id());
  }
  for (const auto& [id, index] : got) {
    if (!wanted.contains(id)) without_place.push_back(id);
  }
  if (missing.empty() && without_place.empty()) return absl::OkStatus();
  std::string text = str_cat(": got ", got.size(), ", required one on each of ", required.size());
  if (!missing.empty())
    str_append(&text, "; no buffer is on devices ", absl::StrJoin(missing, ", "));
  if (!without_place.empty())
    str_append(&text, "; the mesh has no devices ", absl::StrJoin(without_place, ", "),
               " of this process");
  return invalid_argument("the buffers are not on the devices of the layout", text);
}

}  // namespace

Result<Array> Array::from_process_local(Runtime& runtime, NamedSharding sharding,
                                        const HostArray& local,
                                        const std::optional<Dims>& global_dims, TransferSite site) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> process_of, runtime.processes(sharding.mesh()));
  ASSIGN_OR_RETURN(const ProcessLocalData data,
                   fit_process_local(sharding, local.shape().dims, global_dims, process_of,
                                     runtime.client().process_index()));
  // Each part of the tensor lies somewhere else in the process's data.
  std::map<Box, Box> local_box;
  for (const auto& [position, box] : data.parts)
    local_box.emplace(sharding.shard_box(data.global_dims, position), box);
  return from_shards(
      runtime, {local.shape().dtype, data.global_dims}, std::move(sharding),
      [&](const Box& box) { return slice(local, local_box.at(box)); }, site);
}

Result<Array> Array::from_buffers(Runtime& runtime, Shape shape, NamedSharding sharding,
                                  std::vector<pjrt::Buffer> buffers) {
  RETURN_IF_ERROR(sharding.check(shape));
  ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(sharding.mesh()));
  const Shape required = sharding.shard_shape(shape);
  std::map<int64_t, size_t> index_of;  // by device
  for (size_t i = 0; i < buffers.size(); ++i) {
    ASSIGN_OR_RETURN(const pjrt::Device device, buffers[i].device());
    if (!index_of.emplace(device.id(), i).second)
      return invalid_argument("two buffers are on device ", device.id(), "; one each is required");
    ASSIGN_OR_RETURN(const Shape got, buffers[i].shape());
    if (got != required) {
      return invalid_argument("the buffer on device ", device.id(), " is ", to_string(got),
                              ", but its part of ", describe(shape, sharding), " is ",
                              to_string(required));
    }
  }
  RETURN_IF_ERROR(check_devices(devices, index_of));
  std::vector<Piece> pieces;
  for (const auto& [position, device] : devices)
    pieces.push_back({position, std::move(buffers[index_of.at(device.id())])});
  return from_pieces(std::move(shape), std::move(sharding), std::move(pieces));
}

}  // namespace tessera
