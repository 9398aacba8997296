#include "tessera/nn/gated_mlp.h"

#include "tessera/nn/fused_gate.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {
namespace {

const std::vector<std::string> kHidden = {"activation_batch", "activation_length",
                                          "activation_mlp"};

}  // namespace

GatedMlp::GatedMlp(const Scope& scope, const GatedMlpConfig& c)
    : gate_(scope.child("gate").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      up_(scope.child("up").param("kernel", {c.embed, c.mlp}, {"embed", "mlp"}, c.init)),
      down_(scope.child("down").param("kernel", {c.mlp, c.embed}, {"mlp", "embed"}, c.output_init)),
      activation_(c.activation),
      kernels_(scope.kernels()) {}

Value GatedMlp::hidden(Value x_BTD) const {
  if (can_fuse_gate(x_BTD, kernels_)) {
    const Value weights_DCF = stack({gate_, up_}, 1);
    const Value both_BTCF = checkpoint_name(einsum("btd,dcf->btcf", {x_BTD, weights_DCF}), "mlpwi");
    return fused_gate(both_BTCF, activation_, kHidden, *kernels_);
  }
  const Value gate_BTF = checkpoint_name(matmul(x_BTD, gate_), "mlpwi_0");
  const Value up_BTF = checkpoint_name(matmul(x_BTD, up_), "mlpwi_1");
  return activate(gate_BTF, activation_) * up_BTF;
}

Value GatedMlp::operator()(Value x_BTD) const {
  return checkpoint_name(matmul(constrain(hidden(x_BTD), kHidden), down_), "mlpwo");
}

}  // namespace tessera
