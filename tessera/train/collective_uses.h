#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/pjrt/hlo_module.h"

namespace tessera {

/// A collective of a partitioned program, as one run of it executes it.
struct CollectiveUse {
  std::string kind;                          ///< "all-gather", "reduce-scatter", ...
  std::vector<std::vector<int64_t>> groups;  ///< devices, by position, that exchange; of a permute
                                             ///< pairs of a source and a target
  double times = 1;                          ///< loops unrolled
  double bytes = 0;          ///< on one device: of the operands, or of an all-gather's result
  bool conditional = false;  ///< inside a branch, which may be taken or not
};

/// Those of a module that was partitioned for `devices`, in the order of the module.
std::vector<CollectiveUse> collective_uses(const pjrt::HloModule& module, int64_t devices);

/// The bytes that `process` has to send, whatever branches are taken, to others in one run of the
/// program, when what devices of one process hold is put together first, and goes to another
/// process once. `processes`: of the device at each position. For n processes of equal shares that
/// is 2 (n - 1)/n of an all-reduced array; of a gathered one n - 1 times the share; of a scattered
/// sum all shares but one's own.
double least_bytes_sent(const std::vector<CollectiveUse>& uses,
                        const std::vector<int64_t>& processes, int64_t process);

}  // namespace tessera
