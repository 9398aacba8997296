#include "tessera/nn/gated_mlp.h"

#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {

GatedMlp::GatedMlp(const Scope& scope, const GatedMlpConfig& c)
    : gate_(scope.child("gate").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      up_(scope.child("up").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      down_(
          scope.child("down").param("kernel", {c.mlp, c.embed}, {"mlp", "embed"}, c.output_init)) {}

Value GatedMlp::operator()(Value x_BTD) const {
  const Value h_BTF = silu(matmul(x_BTD, gate_)) * matmul(x_BTD, up_);
  return matmul(constrain(h_BTF, {"activation_batch", "activation_length", "activation_mlp"}),
                down_);
}

}  // namespace tessera
