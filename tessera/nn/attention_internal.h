#pragma once

#include "tessera/ir/graph.h"

/// What plain and ring attention share. Letters as in attention.h.
namespace tessera::attention_internal {

/// What a score becomes where a position may not look: small enough for a weight of zero, and
/// finite, so that no NaN arises.
inline constexpr double kMasked = -1e30;

/// bool[B,1,1,T,S]: queries: s32[B,T], keys: s32[B,S].
Value same_segment(Value queries_BT, Value keys_BS);
/// bool[1,1,1,T,S]: whether the key's place is not after the query's.
Value lower_triangle(Graph& graph, int64_t queries, int64_t keys);
/// [B,T,H,C] → [B,T,K,G,C].
Value split_heads(Value q_BTHC, int64_t kv_heads);
/// q k / sqrt(C): [B,K,G,T,S], f32 (of f64 f64).
Value scaled_scores(Value q_BTKGC, Value k_BSKC);

}  // namespace tessera::attention_internal
