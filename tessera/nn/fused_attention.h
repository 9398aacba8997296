#pragma once

#include "tessera/nn/attention.h"

namespace tessera {

/// Whether fused_attention takes these: options.fused, no ring, bf16 or f32, nothing empty.
bool can_fuse_attention(Value q_BTHC, Value k_BSKC, const AttentionOptions& options);

/// What causal_attention gives of q and k that are turned by the sequence's rotary tables first,
/// where it has any, by the kernel "attention" (kernels/attention.cc): only the result
/// and a logarithm a row are kept for the reverse pass, which computes the weights again. Sums are
/// in f32. On a mesh each device computes its own rows, heads and queries, in a
/// manual region. A query that sees no key gives zeros.
Value fused_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC, const SequenceContext& sequence,
                      const ScoreRule& rule, const AttentionOptions& options);

}  // namespace tessera
