#pragma once

#include <cstdint>

#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/runtime/runtime.h"

namespace tessera {

/// How long an all-reduce of all devices takes.
struct AllReducePace {
  int64_t devices = 0;
  int64_t bytes = 0;   ///< of the array that every device brings
  double seconds = 0;  ///< the median round
  /// What each device must send at least in that time, 2 (n - 1)/n of the bytes: the speed of its
  /// connection, whatever the number of devices.
  double bus_bytes_per_second() const {
    const auto n = static_cast<double>(devices);
    return 2 * (n - 1) / n * static_cast<double>(bytes) / seconds;
  }
};

/// Sums an f32 array of about `bytes` over all devices, `rounds` times after one that does not
/// count; all processes call it together. DATA_LOSS when a sum comes out wrong.
Result<AllReducePace> measure_all_reduce(Runtime& runtime, int64_t bytes, int rounds,
                                         const Clock& clock);

}  // namespace tessera
