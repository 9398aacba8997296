#pragma once

#include "tessera/nn/param.h"

namespace tessera {

// Shapes: B batch, T query positions, S key positions, D model width, H query heads, K key heads, G
// = H / K, C head width.

/// x / rms(x) * scale over the last dimension. The mean square is taken in f32 (of f64 in f64), the
/// product with the scale in x's dtype. x: [..,D], scale: [D]. Source: Zhang and Sennrich, Root
/// Mean Square Layer Normalization, 2019.
Value rms_norm(Value x, Value scale, double epsilon);

/// cos and sin of each position's angles: [T,C/2] or, with positions [B,T], [B,T,C/2]; f32.
struct RotaryTables {
  Value cos;
  Value sin;
};
RotaryTables rotary_tables(Value positions, int64_t head_dim, double theta);

/// Turns each head's pairs (i, i + C/2) by the position's angles. x: [B,T,H,C]. Computes in x's
/// dtype. Source: Su et al., RoFormer, 2021; the pairing of halves is Hugging Face's.
Value apply_rotary(Value x_BTHC, const RotaryTables& tables);

/// softmax(q k / sqrt(C)) v where a position sees itself and those before it, and, with segment
/// ids, only its own segment. Scores and softmax are in f32 (of f64 in f64). q: [B,T,H,C], k and v:
/// [B,S,K,C] with H a multiple of K; segment_ids: s32[B,T] or undefined. → [B,T,H,C] in q's dtype.
Value causal_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC, Value segment_ids_BT = {});

}  // namespace tessera
