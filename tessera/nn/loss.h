#pragma once

#include "tessera/ir/graph.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// The parts of a language model's loss, as sums over tokens, so that they add up over batches. All
/// f32[] (f64[] of f64 logits).
struct LossSums {
  Value cross_entropy;  ///< nats, weighted
  Value z_loss;         ///< log(Z)² weighted, not yet times its coefficient
  Value weight;         ///< sum of the weights: the number of tokens that count
};

/// logits: floating [B,T,V], targets: s32[B,T], weights: f32[B,T]. Computed in f32 (of f64
/// in f64) by logsumexp; by the kernel "cross_entropy" where `kernels` has it (fused_loss.h).
/// z-loss: Chowdhery et al., PaLM, 2022.
LossSums language_model_loss(Value logits_BTV, Value targets_BT, Value weights_BT,
                             const Kernels& kernels = nullptr);

/// (cross_entropy + z_coefficient * z_loss) / weight: what training minimises. Zero when no token
/// counts.
Value mean_loss(const LossSums& sums, double z_coefficient);

}  // namespace tessera
