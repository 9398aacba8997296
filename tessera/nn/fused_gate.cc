#include "tessera/nn/fused_gate.h"

#include "tessera/ops/elementwise.h"

namespace tessera {
namespace {

using Values = std::vector<Value>;
using Args = std::span<const Value>;

}  // namespace

Value gated(Value gate_BTF, Value up_BTF, const Kernels& kernels) {
  const bool takes = kernels && kernels->has("swiglu") && gate_BTF.rank() == 3 &&
                     (gate_BTF.dtype() == DType::kBF16 || gate_BTF.dtype() == DType::kF32) &&
                     gate_BTF.shape().elements() > 0;
  if (!takes) return silu(gate_BTF) * up_BTF;
  const KernelRegion region(*kernels);
  const PartitionSpec spec =
      region.spec({"activation_batch", "activation_length", "activation_mlp"}, gate_BTF.dims());
  const auto call = [region, spec](const char* target, Args args, int results) {
    return region.run(std::vector<PartitionSpec>(args.size(), spec),
                      std::vector<PartitionSpec>(results, spec), args, [&](Args local) {
                        return custom_call(
                            local, {.target = target,
                                    .backend_config = region.config(),
                                    .results = std::vector<Shape>(results, local[0].shape())});
                      });
  };
  const Value args[] = {gate_BTF, up_BTF};
  return custom_gradient([&](Args inner) { return call("tessera.swiglu", inner, 1); },
                         [call](Args inner, Args, Args cotangents) {
                           const Value all[] = {inner[0], inner[1], cotangents[0]};
                           return call("tessera.swiglu_gradient", all, 2);
                         },
                         args)[0];
}

}  // namespace tessera
