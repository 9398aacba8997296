#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/pjrt/hlo_module.h"
#include "tessera/train/compile.h"

/// Short runs of a small model on any mesh of the test client's devices.
namespace tessera::parallel_testing {

/// Degrees by axis: {{"fsdp", 2}, {"context", 4}}; the others are 1.
using Degrees = std::vector<std::pair<std::string, int64_t>>;

/// A model of two layers, f32, with packed rows, at a learning rate that moves the loss.
RunConfig small_config();

/// The layout of a mesh of these degrees, inside each of the config's slices, over the first
/// devices.
Result<Layout> layout_of(const Degrees& degrees, MeshConfig mesh = {});

struct RunOptions {
  int steps = 10;
  float learning_rate = 3e-3f;
};
struct ShortRun {
  std::vector<double> losses;
  std::map<std::string, std::vector<double>> before, after;  ///< parameters by path
};
/// `steps` updates from the seed's weights, each on a batch of its own.
Result<ShortRun> short_run(const RunConfig& config, const Degrees& degrees, const RunOptions& run);
/// The losses of `steps` updates from the seed's weights, each on a batch of its own.
Result<std::vector<double>> losses(const RunConfig& config, const Degrees& degrees, int steps = 10);

/// The train step as the compiler leaves it for one device.
Result<pjrt::HloModule> compiled_step(const RunConfig& config, const Degrees& degrees);

/// The same as it is printed for the compiler.
Result<std::string> printed_step(const RunConfig& config, const Degrees& degrees);

/// The largest relative difference.
double worst_error(const std::vector<double>& got, const std::vector<double>& expected);

}  // namespace tessera::parallel_testing
