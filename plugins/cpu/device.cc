// Devices, their descriptions, and memories.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {

void describe(const xla::PjRtDeviceDescription& from, PJRT_DeviceDescription* to) {
  to->id = from.id();
  to->process_index = from.process_index();
  to->kind = from.device_kind();
  to->debug_string = from.DebugString();
  to->to_string = from.ToString();
  for (const auto& [name, value] : from.Attributes()) to->attributes.add(name, value);
}

absl::StatusOr<xla::PjRtMemorySpace*> choose_memory(const PJRT_Client* client,
                                                    const PJRT_Memory* memory,
                                                    const PJRT_Device* device) {
  if (memory == nullptr && device == nullptr)
    return invalid("neither a memory nor a device is given");
  if (memory == nullptr) memory = device->default_memory;
  if (memory == nullptr) return invalid("the device belongs to another process");
  if (memory->client != client) return invalid("the memory or device belongs to another client");
  return memory->space;
}

namespace {

absl::Status description_id(PJRT_DeviceDescription_Id_Args& args) {
  args.id = args.device_description->id;
  return absl::OkStatus();
}

absl::Status description_process_index(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  args.process_index = args.device_description->process_index;
  return absl::OkStatus();
}

absl::Status description_attributes(PJRT_DeviceDescription_Attributes_Args& args) {
  return give(args.device_description->attributes, args.attributes, args.num_attributes);
}

absl::Status description_kind(PJRT_DeviceDescription_Kind_Args& args) {
  return give(args.device_description->kind, args.device_kind, args.device_kind_size);
}

absl::Status description_debug_string(PJRT_DeviceDescription_DebugString_Args& args) {
  return give(args.device_description->debug_string, args.debug_string, args.debug_string_size);
}

absl::Status description_to_string(PJRT_DeviceDescription_ToString_Args& args) {
  return give(args.device_description->to_string, args.to_string, args.to_string_size);
}

absl::Status device_description(PJRT_Device_GetDescription_Args& args) {
  args.device_description = &args.device->description;
  return absl::OkStatus();
}

absl::Status device_is_addressable(PJRT_Device_IsAddressable_Args& args) {
  args.is_addressable = args.device->device != nullptr && args.device->device->IsAddressable();
  return absl::OkStatus();
}

absl::Status device_local_hardware_id(PJRT_Device_LocalHardwareId_Args& args) {
  args.local_hardware_id =
      args.device->device == nullptr ? -1 : args.device->device->local_hardware_id().value();
  return absl::OkStatus();
}

absl::Status device_memories(PJRT_Device_AddressableMemories_Args& args) {
  return give(args.device->memories, args.memories, args.num_memories);
}

absl::Status device_default_memory(PJRT_Device_DefaultMemory_Args& args) {
  if (args.device->default_memory == nullptr) {
    return absl::UnimplementedError("a device of another process has no default memory here");
  }
  args.memory = args.device->default_memory;
  return absl::OkStatus();
}

// All devices of the process share one memory and so one pool: each reports the whole.
absl::Status device_memory_stats(PJRT_Device_MemoryStats_Args& args) {
  if (args.device->device == nullptr)
    return absl::UnimplementedError("the device belongs to another process");
  const PoolStats stats = args.device->client->pool->stats();
  const auto set = [](int64_t value, int64_t* to, bool* is_set) {
    *to = value;
    *is_set = true;
  };
  args.bytes_in_use = stats.in_use;
  set(stats.peak_in_use, &args.peak_bytes_in_use, &args.peak_bytes_in_use_is_set);
  set(stats.allocations, &args.num_allocs, &args.num_allocs_is_set);
  set(stats.largest, &args.largest_alloc_size, &args.largest_alloc_size_is_set);
  set(stats.limit, &args.bytes_limit, &args.bytes_limit_is_set);
  args.bytes_limit_is_set = stats.limit > 0;
  set(stats.held, &args.bytes_reserved, &args.bytes_reserved_is_set);
  set(stats.peak_held, &args.peak_bytes_reserved, &args.peak_bytes_reserved_is_set);
  args.bytes_reservable_limit = stats.limit;
  args.bytes_reservable_limit_is_set = stats.limit > 0;
  set(stats.largest_free, &args.largest_free_block_bytes, &args.largest_free_block_bytes_is_set);
  set(stats.held, &args.pool_bytes, &args.pool_bytes_is_set);
  set(stats.peak_held, &args.peak_pool_bytes, &args.peak_pool_bytes_is_set);
  return absl::OkStatus();
}

absl::Status device_poison_execution(PJRT_Device_PoisonExecution_Args& args) {
  if (args.device->device == nullptr)
    return absl::UnimplementedError("the device belongs to another process");
  TF_ASSIGN_OR_RETURN(
      args.poisoned,
      args.device->device->PoisonExecution(
          args.launch_id, status_of(args.error_code, args.error_message, args.error_message_size)));
  return absl::OkStatus();
}

absl::Status device_create_async_tracking_event(PJRT_Device_CreateAsyncTrackingEvent_Args&) {
  return absl::UnimplementedError("async tracking events do not exist on the CPU platform");
}

absl::Status async_tracking_event_destroy(PJRT_AsyncTrackingEvent_Destroy_Args&) {
  return absl::UnimplementedError("async tracking events do not exist on the CPU platform");
}

absl::Status memory_id(PJRT_Memory_Id_Args& args) {
  args.id = args.memory->space->id();
  return absl::OkStatus();
}

absl::Status memory_kind(PJRT_Memory_Kind_Args& args) {
  return give(args.memory->space->kind(), args.kind, args.kind_size);
}

absl::Status memory_kind_id(PJRT_Memory_Kind_Id_Args& args) {
  args.kind_id = args.memory->space->kind_id();
  return absl::OkStatus();
}

absl::Status memory_debug_string(PJRT_Memory_DebugString_Args& args) {
  return give(args.memory->space->DebugString(), args.debug_string, args.debug_string_size);
}

absl::Status memory_to_string(PJRT_Memory_ToString_Args& args) {
  return give(args.memory->space->ToString(), args.to_string, args.to_string_size);
}

absl::Status memory_devices(PJRT_Memory_AddressableByDevices_Args& args) {
  return give(args.memory->devices, args.devices, args.num_devices);
}

}  // namespace

void fill_device_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_DeviceDescription_Id, device_description, description_id);
  TESSERA_SLOT(api, PJRT_DeviceDescription_ProcessIndex, device_description,
               description_process_index);
  TESSERA_SLOT(api, PJRT_DeviceDescription_Attributes, device_description, description_attributes);
  TESSERA_SLOT(api, PJRT_DeviceDescription_Kind, device_description, description_kind);
  TESSERA_SLOT(api, PJRT_DeviceDescription_DebugString, device_description,
               description_debug_string);
  TESSERA_SLOT(api, PJRT_DeviceDescription_ToString, device_description, description_to_string);
  TESSERA_SLOT(api, PJRT_Device_GetDescription, device, device_description);
  TESSERA_SLOT(api, PJRT_Device_IsAddressable, device, device_is_addressable);
  TESSERA_SLOT(api, PJRT_Device_LocalHardwareId, device, device_local_hardware_id);
  TESSERA_SLOT(api, PJRT_Device_AddressableMemories, device, device_memories);
  TESSERA_SLOT(api, PJRT_Device_DefaultMemory, device, device_default_memory);
  TESSERA_SLOT(api, PJRT_Device_MemoryStats, device, device_memory_stats);
  TESSERA_SLOT(api, PJRT_Device_PoisonExecution, device, device_poison_execution);
  TESSERA_SLOT(api, PJRT_Device_CreateAsyncTrackingEvent, device,
               device_create_async_tracking_event);
  TESSERA_SLOT(api, PJRT_AsyncTrackingEvent_Destroy, event, async_tracking_event_destroy);
  TESSERA_SLOT(api, PJRT_Memory_Id, memory, memory_id);
  TESSERA_SLOT(api, PJRT_Memory_Kind, memory, memory_kind);
  TESSERA_SLOT(api, PJRT_Memory_Kind_Id, memory, memory_kind_id);
  TESSERA_SLOT(api, PJRT_Memory_DebugString, memory, memory_debug_string);
  TESSERA_SLOT(api, PJRT_Memory_ToString, memory, memory_to_string);
  TESSERA_SLOT(api, PJRT_Memory_AddressableByDevices, memory, memory_devices);
}

}  // namespace tessera::pjrt_cpu
