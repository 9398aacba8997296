#pragma once

#include <cstdint>
#include <optional>

#include "tessera/pjrt/client.h"
#include "tessera/pjrt/executable.h"

namespace tessera {

/// What a compiled program takes, and what there is for it.
struct MemoryNeed {
  int64_t argument_bytes = 0;             ///< a device: state and batch
  std::optional<int64_t> temp_bytes = 0;  ///< a device; null: not known yet
  int64_t devices = 1;                    ///< that share what there is
  int64_t available_bytes = 0;
};

/// An error where a program needs more memory than there is, which says how to need less: better
/// than to be killed at the first step.
Status check_memory(const MemoryNeed& need);

/// The same for a program of this process's devices. CPU devices share the memory of the machine or
/// container; another device has its own, where its plugin says how much. OK where nothing is
/// known.
Status check_memory(const pjrt::Client& client, const pjrt::Executable& executable);
/// Before anything is compiled: for what the program takes alone, in bytes a device.
Status check_memory(const pjrt::Client& client, int64_t argument_bytes);

/// Physical memory, or the container's limit where that is lower; nothing where neither is known.
std::optional<int64_t> host_memory_bytes();

}  // namespace tessera
