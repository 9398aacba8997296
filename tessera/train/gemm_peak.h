#pragma once

#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/pjrt/client.h"
#include "tessera/train/config.h"

namespace tessera {

struct GemmPeakOptions {
  ComputeType dtype = ComputeType::kBf16;
  int64_t size = 2048;  ///< Of the square matrices.
  absl::Duration least_time =
      absl::Milliseconds(300);  ///< The timed part goes on at least this long.
};

/// FLOP a second that each addressable device reaches in products of large square matrices, all
/// devices at once, through the plugin's own compiler: what a step's rate can be compared with.
/// Devices that share cores share its rate as well. Takes about a second on a CPU.
Result<double> measure_gemm_peak(const pjrt::Client& client, const Clock& clock,
                                 const GemmPeakOptions& options = {});

}  // namespace tessera
