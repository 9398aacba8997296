#pragma once

#include "tessera/ir/graph.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// What a token's loss is made of: f32[B,T] each.
struct TokenLogits {
  Value log_z;   ///< log(sum(exp(logits)))
  Value target;  ///< the target's logit; 0 for a target that is no class
};
/// Whether token_logits takes these: `kernels` has "cross_entropy", bf16 or f32, and no device has
/// a part of the vocabulary.
bool can_fuse_token_logits(Value logits_BTV, const Kernels& kernels);
/// By the kernel "cross_entropy": the logits are read once here and once for their gradient, and
/// never stand there in f32.
TokenLogits token_logits(Value logits_BTV, Value targets_BT, const Kernels& kernels);

}  // namespace tessera
