#pragma once

#include <optional>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/machine.h"
#include "tessera/base/status.h"
#include "tessera/pjrt/client.h"
#include "tessera/train/config.h"

namespace tessera {

struct GemmPeakOptions {
  ComputeType dtype = ComputeType::kBf16;
  int64_t size = 2048;  ///< Of the square matrices.
  absl::Duration least_time =
      absl::Milliseconds(300);                    ///< The timed part goes on at least this long.
  std::optional<Machine> machine = std::nullopt;  ///< Nothing: this one, as it is now.
};

/// FLOP a second that each addressable device reaches in products of large square matrices, all
/// devices at once, through the plugin's own compiler: what a step's rate can be compared with.
/// Devices that share cores share its rate as well. Takes about a second on a CPU.
Result<double> measure_gemm_peak(const pjrt::Client& client, const Clock& clock,
                                 const GemmPeakOptions& options = {});

/// A peak, and when it was measured.
struct GemmPeak {
  double flops_per_device = 0;
  absl::Time measured;
};

/// Peaks measured before, one a file, so that a run need not wait a second for what the last one
/// has found out. What is kept is true of an idle machine and of today's software: a figure counts
/// only for the same processor, cores, plugin, devices and dtype, only for a week, and only if the
/// machine had nothing else to do while it was measured.
class GemmPeakCache {
 public:
  /// `folder` is made when first needed; empty: nothing is kept or found.
  GemmPeakCache(FileSystem& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}

  /// Nothing when there is none for this key, it is older than a week, or the file is no such file.
  std::optional<GemmPeak> find(const std::string& key, absl::Time now) const;
  /// Failures are of no consequence: the next run measures again.
  void keep(const std::string& key, const GemmPeak& peak) const;

 private:
  std::string path(const std::string& key) const;

  FileSystem& files_;
  const std::string folder_;
};

/// All that a peak depends on, in words.
std::string gemm_peak_key(const pjrt::Client& client, const Machine& machine, ComputeType dtype);
/// Whether the machine was idle enough for a figure of it to be kept.
bool is_idle(const Machine& machine);

/// The kept peak of this machine, or else measures it. What a busy machine gives is kept too, but
/// counts for an hour only, and while the machine is busy: so that a run that goes on after a
/// failure, on a machine that it kept busy itself, does not measure again before it trains.
Result<GemmPeak> gemm_peak(const pjrt::Client& client, const Clock& clock,
                           const GemmPeakCache& cache, const GemmPeakOptions& options = {});

}  // namespace tessera
