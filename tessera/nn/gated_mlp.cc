#include "tessera/nn/gated_mlp.h"

#include "tessera/nn/fused_gate.h"
#include "tessera/ops/control.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {

GatedMlp::GatedMlp(const Scope& scope, const GatedMlpConfig& c)
    : gate_(scope.child("gate").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      up_(scope.child("up").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      down_(scope.child("down").param("kernel", {c.mlp, c.embed}, {"mlp", "embed"}, c.output_init)),
      kernels_(scope.kernels()) {}

Value GatedMlp::operator()(Value x_BTD) const {
  const Value gate_BTF = checkpoint_name(matmul(x_BTD, gate_), "mlpwi_0");
  const Value up_BTF = checkpoint_name(matmul(x_BTD, up_), "mlpwi_1");
  const Value h_BTF = constrain(gated(gate_BTF, up_BTF, kernels_),
                                {"activation_batch", "activation_length", "activation_mlp"});
  return checkpoint_name(matmul(h_BTF, down_), "mlpwo");
}

}  // namespace tessera
