#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/config.h"
#include "tessera/nn/attention.h"

namespace tessera {

/// The element type that a step computes in; weights are f32.
enum class ComputeType { kF32, kBf16 };

/// Steps and batches: the recipe's section `training`.
struct TrainingConfig {
  int64_t steps = 1000;
  int64_t batch_size = 8;  ///< Sequences a step, over all devices.
  int64_t sequence_length = 256;
  int64_t gradient_accumulation_steps = 1;  ///< Parts that a batch is computed in.
  ComputeType dtype = ComputeType::kBf16;
  bool scan_layers = true;     ///< One loop over the layers; else one program after the other.
  std::string remat = "none";  ///< What layers compute again in the reverse pass: see remat.h.
  std::vector<std::string> remat_names;          ///< custom: the named values that are kept.
  std::vector<std::string> remat_offload_names;  ///< custom: those kept in the host's memory.
  double dropout = 0;                    ///< Share of the residual stream's changes left out.
  bool attend_across_documents = false;  ///< Of a packed row: else each sees only itself.
  uint64_t seed = 0;
  ContextStrategy context_parallel_strategy = ContextStrategy::kAllGather;
  bool context_parallel_load_balance = true;
  int64_t pipeline_microbatches = -1;  ///< -1: as many as there are stages
  int64_t pipeline_repeats = 1;        ///< times that a microbatch goes round the stages
  double z_loss = 0;                   ///< Weight of log(Z)² a token.
  int64_t eval_interval = 100;
  int64_t eval_batches = 8;
  std::optional<double> target_eval_loss;  ///< Stop where a validation reaches it.

  void fields(ConfigFields& f);
  /// What concerns several of these keys.
  Status validate() const;
  int64_t tokens_per_step() const { return batch_size * sequence_length; }
};

}  // namespace tessera
