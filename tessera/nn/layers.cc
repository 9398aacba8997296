#include "tessera/nn/layers.h"

#include <cmath>

#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

// What a score becomes where a position may not look: small enough for a weight of zero, and
// finite, so that no NaN arises.
constexpr double kMasked = -1e30;

// bool[B or 1, 1, 1, T, S]: who sees whom.
Value visibility(Graph& graph, int64_t queries, int64_t keys, Value segment_ids_BT) {
  const Shape square{DType::kS32, {queries, keys}};
  Value visible = reshape(greater_equal(iota(graph, square, 0), iota(graph, square, 1)),
                          {1, 1, 1, queries, keys});
  if (!segment_ids_BT.defined()) return visible;
  const int64_t batch = segment_ids_BT.dim(0);
  const Value same = equal(reshape(segment_ids_BT, {batch, 1, 1, queries, 1}),
                           reshape(segment_ids_BT, {batch, 1, 1, 1, keys}));
  return logical_and(visible, same);
}

}  // namespace

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

Value causal_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC, Value segment_ids_BT) {
  const int64_t batch = q_BTHC.dim(0), queries = q_BTHC.dim(1), heads = q_BTHC.dim(2),
                width = q_BTHC.dim(3);
  const int64_t keys = k_BSKC.dim(1), kv_heads = k_BSKC.dim(2);
  if (heads % kv_heads != 0)
    fail("[causal_attention] ", heads, " heads are no multiple of ", kv_heads, " key heads");
  const Value q_BTKGC = reshape(q_BTHC, {batch, queries, kv_heads, heads / kv_heads, width});
  const Value scores = einsum("btkgc,bskc->bkgts", {q_BTKGC, k_BSKC});
  const Value scaled =
      convert(scores, wide_dtype(scores.dtype())) * (1 / std::sqrt(static_cast<double>(width)));
  const Value visible = visibility(q_BTHC.graph(), queries, keys, segment_ids_BT);
  const Value weights_BKGTS = convert(softmax(select(visible, scaled, kMasked)), q_BTHC.dtype());
  const Value mixed_BTKGC = einsum("bkgts,bskc->btkgc", {weights_BKGTS, v_BSKC});
  return reshape(mixed_BTKGC, {batch, queries, heads, width});
}

}  // namespace tessera
