#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/sharding/named_sharding.h"

namespace tessera {

/// What one process loads of a tensor so that each of its devices has its part.
struct ProcessLoad {
  int64_t process = 0;
  /// The distinct parts that its devices hold, by their place in the tensor.
  std::vector<Box> parts;
  /// Where each part goes: the devices' positions in the mesh, ascending; one list a part. Devices
  /// of one list are replicas of each other and get the same bytes.
  std::vector<std::vector<int64_t>> positions;
  /// Processes with the same group must load the same data, in the same order.
  int64_t group = 0;
};

/// Who loads what of a tensor that is laid out over the devices of several processes.
struct LoadingPlan {
  std::vector<ProcessLoad> processes;  ///< by process; those without a device in the mesh are not
                                       ///< among them

  /// The load of a process; nullptr where it has no device in the mesh.
  const ProcessLoad* find(int64_t process) const;
  /// Groups by the data that they load: for each the processes, ascending. Groups share no element
  /// unless `overlaps`.
  std::vector<std::vector<int64_t>> groups() const;
  /// Whether some element is loaded by processes of different groups, as where a process holds half
  /// of what another holds whole. Then whoever feeds the groups from independent streams would give
  /// replicas different data.
  bool overlaps = false;
};

/// `process_of`: the process of the device at each position of the sharding's mesh.
///
/// Each device's part of a tensor decides who must load it; data on a device that is not its part
/// is no error anywhere, only a wrong result.
Result<LoadingPlan> plan_loading(const NamedSharding& sharding, const Dims& dims,
                                 std::span<const int64_t> process_of);

/// How processes read what their devices need.
enum class LoadingStrategy {
  kWhole,       ///< every process reads all, and keeps its parts: simple, and reads too much
  kPerDevice,   ///< a loader a device reads exactly its part; replicas are read again
  kPerProcess,  ///< a loader a process reads each of its distinct parts once
  kEven,        ///< each process reads an equal share of the first dimension, whatever the layout;
                ///< the devices then exchange parts: everything is read exactly once
};
std::string to_string(LoadingStrategy strategy);

/// The boxes that a process reads, in the order in which it reads them.
/// Errors: kEven where the first dimension does not divide by the mesh's devices; a process without
/// a device in the mesh.
Result<std::vector<Box>> boxes_to_read(LoadingStrategy strategy, const NamedSharding& sharding,
                                       const Dims& dims, std::span<const int64_t> process_of,
                                       int64_t process);

/// The layout under which kEven's shares lie, to be resharded from: the first dimension over all
/// devices, those of a process next to each other.
Result<NamedSharding> even_sharding(const Mesh& mesh, std::span<const int64_t> process_of);

}  // namespace tessera
