#include "tessera/pjrt/device.h"

#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/named_value_internal.h"

namespace tessera::pjrt {
namespace {

Result<PJRT_DeviceDescription*> description(const PJRT_Api* api, PJRT_Device* device) {
  PJRT_ARGS(PJRT_Device_GetDescription, args);
  args.device = device;
  RETURN_IF_ERROR(PJRT_CALL(api, PJRT_Device_GetDescription, args));
  return args.device_description;
}

std::optional<int64_t> if_set(int64_t value, bool is_set) {
  return is_set ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string Memory::kind() const {
  PJRT_ARGS(PJRT_Memory_Kind, args);
  args.memory = memory_;
  if (!PJRT_CALL(api_, PJRT_Memory_Kind, args).ok()) return "";
  return std::string(args.kind, args.kind_size);
}

std::string Memory::to_string() const {
  PJRT_ARGS(PJRT_Memory_ToString, args);
  args.memory = memory_;
  if (!PJRT_CALL(api_, PJRT_Memory_ToString, args).ok()) return kind();
  return std::string(args.to_string, args.to_string_size);
}

Result<Device> Device::describe(const PJRT_Api* api, PJRT_Device* device) {
  Device result(api, device);
  ASSIGN_OR_RETURN(PJRT_DeviceDescription * about, description(api, device));
  PJRT_ARGS(PJRT_DeviceDescription_Id, id);
  id.device_description = about;
  RETURN_IF_ERROR(PJRT_CALL(api, PJRT_DeviceDescription_Id, id));
  PJRT_ARGS(PJRT_DeviceDescription_ProcessIndex, process);
  process.device_description = about;
  RETURN_IF_ERROR(PJRT_CALL(api, PJRT_DeviceDescription_ProcessIndex, process));
  PJRT_ARGS(PJRT_Device_IsAddressable, addressable);
  addressable.device = device;
  RETURN_IF_ERROR(PJRT_CALL(api, PJRT_Device_IsAddressable, addressable));
  result.id_ = id.id;
  result.process_index_ = process.process_index;
  result.is_addressable_ = addressable.is_addressable;
  return result;
}

std::string Device::kind() const {
  const auto about = description(api_, device_);
  if (!about.ok()) return "";
  PJRT_ARGS(PJRT_DeviceDescription_Kind, args);
  args.device_description = *about;
  if (!PJRT_CALL(api_, PJRT_DeviceDescription_Kind, args).ok()) return "";
  return std::string(args.device_kind, args.device_kind_size);
}

std::string Device::to_string() const {
  const auto about = description(api_, device_);
  PJRT_ARGS(PJRT_DeviceDescription_ToString, args);
  if (about.ok()) args.device_description = *about;
  if (!about.ok() || !PJRT_CALL(api_, PJRT_DeviceDescription_ToString, args).ok()) {
    return str_cat("device ", id_);
  }
  return std::string(args.to_string, args.to_string_size);
}

std::vector<NamedValue> Device::attributes() const {
  const auto about = description(api_, device_);
  if (!about.ok()) return {};
  PJRT_ARGS(PJRT_DeviceDescription_Attributes, args);
  args.device_description = *about;
  if (!PJRT_CALL(api_, PJRT_DeviceDescription_Attributes, args).ok()) return {};
  return from_c(args.attributes, args.num_attributes);
}

Result<DeviceMemoryStats> Device::memory_stats() const {
  PJRT_ARGS(PJRT_Device_MemoryStats, args);
  args.device = device_;
  RETURN_IF_ERROR(PJRT_CALL(api_, PJRT_Device_MemoryStats, args));
  DeviceMemoryStats stats;
  stats.bytes_in_use = args.bytes_in_use;
  stats.peak_bytes_in_use = if_set(args.peak_bytes_in_use, args.peak_bytes_in_use_is_set);
  stats.bytes_limit = if_set(args.bytes_limit, args.bytes_limit_is_set);
  stats.largest_allocation_bytes = if_set(args.largest_alloc_size, args.largest_alloc_size_is_set);
  stats.allocations = if_set(args.num_allocs, args.num_allocs_is_set);
  stats.pool_bytes = if_set(args.pool_bytes, args.pool_bytes_is_set);
  return stats;
}

std::vector<Memory> Device::memories() const {
  PJRT_ARGS(PJRT_Device_AddressableMemories, args);
  args.device = device_;
  std::vector<Memory> result;
  if (!PJRT_CALL(api_, PJRT_Device_AddressableMemories, args).ok()) return result;
  for (size_t i = 0; i < args.num_memories; ++i) result.emplace_back(api_, args.memories[i]);
  return result;
}

Result<Memory> Device::default_memory() const {
  PJRT_ARGS(PJRT_Device_DefaultMemory, args);
  args.device = device_;
  RETURN_IF_ERROR(PJRT_CALL(api_, PJRT_Device_DefaultMemory, args));
  return Memory(api_, args.memory);
}

}  // namespace tessera::pjrt
