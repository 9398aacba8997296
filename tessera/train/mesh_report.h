#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/status.h"
#include "tessera/train/compile_report.h"
#include "tessera/train/config.h"
#include "tessera/train/layout.h"

namespace tessera {

/// A tensor and what a device holds of it.
struct TensorReport {
  std::string name;
  std::vector<std::string> dim_names;
  Shape shape;
  PartitionSpec spec;
  Shape shard;
  double bytes = 0;  ///< of the shard
};

/// What becomes of a recipe on a mesh, without any device: the mesh, each rule that acts, and every
/// tensor of the train step that has a layout of its own.
struct MeshReport {
  std::vector<AxisDegrees> axes;  ///< resolved, in mesh order
  Slices slices;
  Layout layout;
  double parameters = 0;        ///< elements
  std::vector<AxisRule> rules;  ///< with the axes larger than one
  std::vector<TensorReport> params;
  std::vector<TensorReport> optimizer;
  std::vector<TensorReport> batch;
  std::vector<TensorReport> activations;  ///< that the model pins to a layout, each once
  std::vector<ReplicatedParam> replicated;
  Status tolerated;  ///< of check_sharding_tolerance(): training refuses what is not
  std::vector<UnusedAxis> unused;
  std::optional<CompileReport> compiled;

  /// Bytes of all shards of a list that a device holds.
  static double bytes(std::span<const TensorReport> tensors);
  /// Of weights, gradients and optimizer's state a device.
  double state_bytes() const;
};

/// The report for `devices` devices. Errors are those that training has before it compiles, but for
/// the tolerance, which the report is there to explain.
Result<MeshReport> mesh_report(const RunConfig& config, int64_t devices);

/// For people.
std::string to_text(const MeshReport& report);
Json to_json(const MeshReport& report);

/// The devices' ids as a grid: the last axis across, the others down, the slices beside them. Cut
/// off where it is larger than a screen.
std::string mesh_picture(const Mesh& mesh, const Slices& slices);

}  // namespace tessera
