#pragma once

#include <optional>

#include "tessera/runtime/array.h"

/// Arrays of one process's devices, and those over the devices of several.
namespace tessera {

/// The whole tensor in the memory of every process of the client, also of those that hold nothing
/// of it: over the devices, one copy a process. All processes of the client must call. The way to
/// read an array that has parts elsewhere; of several arrays, call it for one after the other.
Result<HostArray> gather_to_host(Runtime& runtime, const Array& array);

/// The array laid out by `sharding` that has `local` as this process's part, as
/// Array::from_process_local() makes it of host memory: whole in a dimension, or the parts of this
/// process's devices next to each other. `local` lies on devices of this process alone, in any
/// layout; nothing leaves the process. Each process with a device in the mesh calls with its own.
/// Values that several processes hold must be equal (compare_replicas() looks). An array that is
/// laid out by `sharding` is returned as it is.
Result<Array> process_local_to_global(Runtime& runtime, const Array& local,
                                      const NamedSharding& sharding,
                                      const std::optional<Dims>& global_dims = {});

/// The parts of `global` that this process's devices hold, next to each other in each dimension, as
/// an array over devices of this process alone, laid out by `sharding`. Nothing leaves the process.
/// Errors: a mesh with devices of others; parts that make no box, as where a process holds two that
/// lie across.
Result<Array> global_to_process_local(Runtime& runtime, const Array& global,
                                      const NamedSharding& sharding);

}  // namespace tessera
