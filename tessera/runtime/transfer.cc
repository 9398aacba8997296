#include "tessera/runtime/transfer.h"

#include <algorithm>
#include <set>

#include "tessera/runtime/transfer_program.h"

namespace tessera {
namespace {

void describe(std::string* key, const std::vector<Holding>& list) {
  for (const Holding& one : list) str_append(key, one.device_id, to_string(one.box), ";");
}

// The holdings say all that the program depends on, whatever the meshes are called.
std::string key_of(const Transfer& what) {
  std::string key = str_cat(dtype_name(what.shape.dtype), " ");
  describe(&key, what.from);
  key += " to ";
  describe(&key, what.to);
  return key;
}

Result<TransferCache::Entry> compile(Runtime& runtime, const Transfer& what) {
  std::map<int64_t, int64_t> process_of;
  std::map<int64_t, std::string> kinds;
  for (const auto* list : {&what.from, &what.to}) {
    for (const Holding& one : *list) {
      ASSIGN_OR_RETURN(const pjrt::Device device,
                       runtime.client().device(static_cast<int>(one.device_id)));
      process_of[one.device_id] = device.process_index();
      kinds[one.device_id] = device.kind();
    }
  }
  RETURN_IF_ERROR(check_same_kind(kinds));
  TransferCache::Entry entry;
  ASSIGN_OR_RETURN(
      entry.plan, plan_transfer(what.from, what.to, [&](int64_t id) { return process_of.at(id); }));
  if (what.shape.elements() == 0) return entry;  // nothing goes anywhere
  const Shape source{what.shape.dtype, what.from[0].box.dims};
  ASSIGN_OR_RETURN(Program program, transfer_program(entry.plan, what.shape.dtype, source.dims,
                                                     what.to[0].box.dims));
  ASSIGN_OR_RETURN(entry.program, CompiledFunction::compile(runtime, std::move(program)));
  if (what.from.size() < entry.plan.device_ids.size())
    entry.filler = std::make_shared<const HostArray>(source);
  return entry;
}

Result<std::shared_ptr<const TransferCache::Entry>> compiled(Runtime& runtime,
                                                             const Transfer& what) {
  const std::string key = key_of(what);
  if (auto found = runtime.transfers().find(key)) return found;
  auto entry = compile(runtime, what);
  RETURN_IF_ERROR(annotate(entry.status(), "device_put"));
  return runtime.transfers().add(key, *std::move(entry));
}

// By device id.
Result<std::map<int64_t, const pjrt::Buffer*>> buffers_of(Runtime& runtime, const Array& array,
                                                          const std::vector<Holding>& from) {
  const auto ids = array.sharding().mesh().device_ids();
  std::map<int64_t, const pjrt::Buffer*> buffers;
  for (const Array::Piece& piece : array.pieces()) buffers[ids[piece.position]] = &piece.buffer;
  for (const Holding& one : from) {
    ASSIGN_OR_RETURN(const pjrt::Device device,
                     runtime.client().device(static_cast<int>(one.device_id)));
    if (!device.is_addressable() || buffers.contains(one.device_id)) continue;
    return invalid_argument("device_put: array ",
                            tessera::describe(array.shape(), array.sharding()),
                            " has no part on device ", one.device_id, ", which is in its mesh");
  }
  return buffers;
}

Result<std::map<int64_t, pjrt::Buffer>> run(Runtime& runtime, const TransferCache::Entry& entry,
                                            std::map<int64_t, const pjrt::Buffer*> sources) {
  const std::vector<int64_t> positions = entry.program->local_positions();
  std::vector<pjrt::Buffer> fillers;
  fillers.reserve(positions.size());  // they do not move: their addresses are passed on
  std::vector<std::vector<const pjrt::Buffer*>> inputs;
  for (int64_t position : positions) {
    const int64_t id = entry.plan.device_ids[position];
    const pjrt::Buffer*& source = sources[id];
    if (source == nullptr) {
      ASSIGN_OR_RETURN(const pjrt::Device device, runtime.client().device(static_cast<int>(id)));
      ASSIGN_OR_RETURN(pjrt::Buffer filler, runtime.client().to_device(entry.filler, device));
      source = &fillers.emplace_back(std::move(filler));
    }
    inputs.push_back({source});
  }
  ASSIGN_OR_RETURN(auto results, entry.program->run(inputs));
  std::map<int64_t, pjrt::Buffer> by_device;
  for (size_t i = 0; i < positions.size(); ++i)
    by_device.emplace(entry.plan.device_ids[positions[i]], std::move(results[i][0]));
  return by_device;
}

// Of tensors without elements.
Result<std::map<int64_t, pjrt::Buffer>> empty_parts(Runtime& runtime, const Transfer& what) {
  std::map<int64_t, pjrt::Buffer> parts;
  for (const Holding& one : what.to) {
    ASSIGN_OR_RETURN(const pjrt::Device device,
                     runtime.client().device(static_cast<int>(one.device_id)));
    if (!device.is_addressable()) continue;
    const HostArray part(Shape{what.shape.dtype, one.box.dims});
    ASSIGN_OR_RETURN(parts[one.device_id], runtime.client().to_device(part, device));
  }
  return parts;
}

}  // namespace

Status check_same_kind(const std::map<int64_t, std::string>& kinds) {
  for (const auto& [id, kind] : kinds) {
    const auto& [first, its_kind] = *kinds.begin();
    if (kind == its_kind) continue;
    return invalid_argument("device ", first, " is a ", its_kind, " and device ", id, " a ", kind,
                            ": arrays go between devices of one kind only");
  }
  return absl::OkStatus();
}

std::shared_ptr<const TransferCache::Entry> TransferCache::find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

std::shared_ptr<const TransferCache::Entry> TransferCache::add(const std::string& key,
                                                               Entry entry) {
  std::lock_guard lock(mutex_);
  auto& slot = entries_[key];
  if (slot == nullptr) slot = std::make_shared<const Entry>(std::move(entry));
  return slot;
}

Result<Array> transfer(Runtime& runtime, const Array& array, const Transfer& what) {
  ASSIGN_OR_RETURN(auto sources, buffers_of(runtime, array, what.from));
  ASSIGN_OR_RETURN(const auto entry, compiled(runtime, what));
  std::map<int64_t, pjrt::Buffer> results;
  if (what.shape.elements() == 0) {
    ASSIGN_OR_RETURN(results, empty_parts(runtime, what));
  } else if (entry->program->runs_here()) {
    ASSIGN_OR_RETURN(results, run(runtime, *entry, std::move(sources)));
  }
  const auto ids = what.sharding.mesh().device_ids();
  std::set<int64_t> wanted;
  for (const Holding& one : what.to) wanted.insert(one.device_id);
  std::vector<Array::Piece> pieces;
  for (size_t position = 0; position < ids.size(); ++position) {
    const auto found = results.find(ids[position]);
    if (found != results.end() && wanted.contains(ids[position]))
      pieces.push_back({static_cast<int64_t>(position), std::move(found->second)});
  }
  return Array::from_pieces(what.shape, what.sharding, std::move(pieces),
                            runtime.dispatch()->launch_order);
}

}  // namespace tessera
