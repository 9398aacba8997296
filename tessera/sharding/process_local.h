#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/sharding/named_sharding.h"

namespace tessera {

/// How one process's own data fits into a tensor over the devices of several processes.
///
/// In each dimension the data has either the tensor's whole size, and each device's part is looked
/// up in it; or just the parts that the process's devices hold, next to each other in the tensor's
/// order.
struct ProcessLocalData {
  Dims global_dims;
  /// For each device of the process, by ascending position in the mesh: where its part lies in the
  /// process's data.
  struct Part {
    int64_t position;
    Box box;
  };
  std::vector<Part> parts;
};

/// Lays `local_dims` of a process's data out. `process_of`: the process of the device at each
/// position of the mesh. Without `global_dims` they follow from the layout: in each dimension the
/// processes hold equally many parts, and two processes the same ones or none in common.
///
/// Errors: a layout for which that does not hold and no `global_dims`; data that is neither whole
/// nor just the process's parts; `global_dims` that cannot be split so; with one process,
/// `global_dims` other than `local_dims`.
Result<ProcessLocalData> fit_process_local(const NamedSharding& sharding, const Dims& local_dims,
                                           const std::optional<Dims>& global_dims,
                                           std::span<const int64_t> process_of, int64_t process);

/// The dimensions of just what a process's devices hold of a tensor, next to each other. An error
/// for a process without a device in the mesh, or a layout that does not fit `global_dims`.
Result<Dims> process_local_dims(const NamedSharding& sharding, const Dims& global_dims,
                                std::span<const int64_t> process_of, int64_t process);

}  // namespace tessera
