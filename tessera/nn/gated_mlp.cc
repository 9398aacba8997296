#include "tessera/nn/gated_mlp.h"

#include "tessera/nn/fused_gate.h"
#include "tessera/ops/control.h"
#include "tessera/ops/linear.h"
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

Value GatedMlp::operator()(Value x_BTD) const {
  const Value hidden_BTF =
      gated(x_BTD, gate_, up_, {"btd,df->btf", "btd,dcf->btcf", kHidden, activation_, kernels_});
  return checkpoint_name(matmul(constrain(hidden_BTF, kHidden), down_), "mlpwo");
}

}  // namespace tessera
