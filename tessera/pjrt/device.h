#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/pjrt/named_value.h"

struct PJRT_Api;
struct PJRT_Device;
struct PJRT_Memory;

namespace tessera::pjrt {

/// A memory space of a device: "device", "pinned_host". A handle, valid while its Client or
/// anything made by it lives. Safe to use from several threads.
class Memory {
 public:
  Memory(const PJRT_Api* api, PJRT_Memory* memory) : api_(api), memory_(memory) {}

  /// "device", "pinned_host", "unpinned_host"; empty when the plugin does not tell.
  std::string kind() const;
  /// For people: "MEMORY_SPACE_0".
  std::string to_string() const;
  PJRT_Memory* handle() const { return memory_; }

 private:
  const PJRT_Api* api_;
  PJRT_Memory* memory_;
};

/// What a device's allocator tells. Everything but the bytes in use may be unknown.
struct DeviceMemoryStats {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use;
  std::optional<int64_t> bytes_limit;
  std::optional<int64_t> largest_allocation_bytes;
  std::optional<int64_t> allocations;
  /// Held by the allocator, in use or not.
  std::optional<int64_t> pool_bytes;
};

/// One device, of this process or of another. A handle, valid while its Client or anything made by
/// it lives. Safe to use from several threads.
class Device {
 public:
  /// Asks the plugin for what never changes: id, process, whether it is addressable.
  static Result<Device> describe(const PJRT_Api* api, PJRT_Device* device);

  /// Unique among all devices of all processes.
  int id() const { return id_; }
  int process_index() const { return process_index_; }
  /// Whether this process can put data on it and run programs on it.
  bool is_addressable() const { return is_addressable_; }
  /// "cpu", "NVIDIA H200".
  std::string kind() const;
  /// For people: "CpuDevice(id=0)".
  std::string to_string() const;
  /// "slice_index", "coords", "core_count" and the like.
  std::vector<NamedValue> attributes() const;
  /// UNIMPLEMENTED where the plugin counts nothing.
  Result<DeviceMemoryStats> memory_stats() const;
  /// Empty when the device is not addressable.
  std::vector<Memory> memories() const;
  Result<Memory> default_memory() const;
  PJRT_Device* handle() const { return device_; }

 private:
  Device(const PJRT_Api* api, PJRT_Device* device) : api_(api), device_(device) {}

  const PJRT_Api* api_;
  PJRT_Device* device_;
  int id_ = 0;
  int process_index_ = 0;
  bool is_addressable_ = false;
};

}  // namespace tessera::pjrt
