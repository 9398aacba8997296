#pragma once

#include "tessera/nn/param.h"

namespace tessera {

// Shapes: B batch, T positions, D model width, H heads, C head width.

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

}  // namespace tessera
