#include "tessera/nn/layers.h"

#include <cmath>

#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {

Value rms_norm(Value x, Value scale, double epsilon) {
  const Value wide = convert(x, wide_dtype(x.dtype()));
  const Value inverse_rms = rsqrt(mean(wide * wide, {-1}, /*keepdims=*/true) + epsilon);
  return convert(wide * inverse_rms, x.dtype()) * scale;
}

RotaryTables rotary_tables(Value positions, int64_t head_dim, double theta) {
  const int64_t half = head_dim / 2;
  std::vector<float> frequencies(half);
  for (int64_t i = 0; i < half; ++i) {
    // In f32 as the field's other programs do, so that weights trained there see the same angles.
    frequencies[i] = 1.0f / std::pow(static_cast<float>(theta),
                                     static_cast<float>(2 * i) / static_cast<float>(head_dim));
  }
  const Value frequency =
      constant(positions.graph(),
               HostArray::from<float>(DType::kF32, {half}, std::span<const float>(frequencies)));
  const Value angles = expand_dims(convert(positions, DType::kF32), -1) * frequency;
  return {cos(angles), sin(angles)};
}

Value apply_rotary(Value x_BTHC, const RotaryTables& tables) {
  // [T,C/2] or [B,T,C/2] → [..,T,1,C/2]: the same for all heads.
  const Value cos = expand_dims(convert(tables.cos, x_BTHC.dtype()), -2);
  const Value sin = expand_dims(convert(tables.sin, x_BTHC.dtype()), -2);
  const std::vector<Value> halves = split(x_BTHC, 2, -1);
  return concatenate({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1);
}

}  // namespace tessera
