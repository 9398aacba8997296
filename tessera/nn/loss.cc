#include "tessera/nn/loss.h"

#include "tessera/nn/fused_loss.h"
#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {

namespace {

TokenLogits by_ops(Value logits_BTV, Value targets_BT) {
  const Value logits = convert(logits_BTV, wide_dtype(logits_BTV.dtype()));
  const Value log_z = logsumexp(logits, {-1});
  // Picked by comparison rather than by a gather: it fuses, its gradient too, and it splits over a
  // sharded vocabulary.
  const Value classes = iota(logits.graph(), Shape{DType::kS32, {1, 1, logits.dim(-1)}}, 2);
  const Value is_target = equal(classes, expand_dims(targets_BT, -1));
  return {log_z, sum(select(is_target, logits, 0.0), {-1})};
}

}  // namespace

LossSums language_model_loss(Value logits_BTV, Value targets_BT, Value weights_BT,
                             const Kernels& kernels) {
  const auto [log_z, target] = can_fuse_token_logits(logits_BTV, kernels)
                                   ? token_logits(logits_BTV, targets_BT, kernels)
                                   : by_ops(logits_BTV, targets_BT);
  const Value weights = convert(weights_BT, log_z.dtype());
  return {.cross_entropy = sum((log_z - target) * weights),
          .z_loss = sum(log_z * log_z * weights),
          .weight = sum(weights)};
}

Value mean_loss(const LossSums& sums, double z_coefficient) {
  Value total = sums.cross_entropy;
  if (z_coefficient != 0) total = total + sums.z_loss * z_coefficient;
  return total / maximum(sums.weight, 1e-8);
}

}  // namespace tessera
