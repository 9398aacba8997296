#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/runtime/agreement.h"
#include "tessera/runtime/array.h"

namespace tessera {

/// A part of an array that devices should hold alike, but do not.
struct ReplicaDifference {
  std::string path;
  Box box;
  /// Devices that hold the same, the largest group first.
  std::vector<std::vector<int64_t>> device_ids;
};
/// "'params.w' [0:4, 0:8]: device 2049 holds another value than devices 0, 1, 2048".
std::string to_string(const ReplicaDifference& difference);

/// Reads the parts that several devices should hold, of all arrays, and compares their hashes among
/// all devices of all processes. What nothing else would notice: a bit that flipped, data that
/// was loaded differently, a program that ran differently. It waits for the values and copies each
/// part to the host, one at a time: seconds for a large model. Every process that takes part in
/// `gather` calls it with the same arrays, and gets the same answer.
Result<std::vector<ReplicaDifference>> compare_replicas(const Tree<Array>& arrays,
                                                        const GatherTexts& gather);

/// OK, or DATA_LOSS that names the parts and devices (at most ten parts; then how many more).
Status check_replicas(const Tree<Array>& arrays, const GatherTexts& gather);

}  // namespace tessera
