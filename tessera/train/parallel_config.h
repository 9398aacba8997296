#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/sharding/mesh.h"
#include "tessera/sharding/partition_spec.h"
#include "tessera/train/config.h"

namespace tessera {

/// Devices along a mesh axis; 1 when the mesh has none of that name.
int64_t axis_degree(const Mesh& mesh, std::string_view axis);

/// The mesh axes that attention's sequences are split over; none where the rules do not speak of
/// them (a recipe's own table need not).
Result<std::vector<std::string>> sequence_axes(const AxisRules& rules, const Mesh& mesh);
/// Devices along those.
Result<int64_t> sequence_shards(const AxisRules& rules, const Mesh& mesh);

/// Microbatches that a pipeline of `stages` cuts a batch into.
int64_t pipeline_microbatches(const TrainingConfig& training, int64_t stages);

/// That a sequence can be split over the context axis and layers over the stage axis as the config
/// says. Errors name a key and a value that would do.
Status validate_context(const TrainingConfig& training, const Mesh& mesh, const AxisRules& rules);
/// Ring attention has no sliding window and no soft cap.
Status validate_ring(const TrainingConfig& training, const LlamaConfig& model, const Mesh& mesh);
Status validate_pipeline(const TrainingConfig& training, int64_t layers, const Mesh& mesh,
                         int64_t batch_shards);
/// That a mixture of experts in a pipeline is not split both by rows and by places in the sequence
/// as well: XLA's partitioner ends the process there (a check of spmd_partitioner_util.cc, in the
/// libraries of TensorFlow 2.21).
Status validate_mixture_in_pipeline(const Mesh& mesh, const AxisRules& rules, int64_t batch_shards);

/// "training.pipeline_repeats=2 has no effect: ...", of each setting of how a mesh is used that
/// this mesh has no use for. No errors: one recipe may run on several meshes.
std::vector<std::string> settings_without_effect(const RunConfig& config, const Mesh& mesh,
                                                 int64_t slices);

}  // namespace tessera
