#include "tessera/nn/fused_loss.h"

#include "tessera/ops/constant.h"

namespace tessera {
namespace {

using Values = std::vector<Value>;
using Args = std::span<const Value>;

PartitionSpec logits_spec(const KernelRegion& region, Value logits_BTV) {
  return region.spec({"activation_embed_and_logits_batch", "activation_length", "activation_vocab"},
                     logits_BTV.dims());
}

}  // namespace

bool can_fuse_token_logits(Value logits_BTV, const Kernels& kernels) {
  if (!kernels || !kernels->has("cross_entropy") || logits_BTV.shape().elements() == 0)
    return false;
  if (logits_BTV.dtype() != DType::kBF16 && logits_BTV.dtype() != DType::kF32) return false;
  const PartitionSpec spec = logits_spec(KernelRegion(*kernels), logits_BTV);
  return spec.dims.empty() || spec.dims[2].empty();
}

TokenLogits token_logits(Value logits_BTV, Value targets_BT, const Kernels& kernels) {
  const KernelRegion region(*kernels);
  const PartitionSpec logits = logits_spec(region, logits_BTV);
  PartitionSpec tokens = logits;
  if (!tokens.dims.empty()) tokens.dims.resize(2);
  const Branch forward = [&](Args args) {
    return region.run({logits, tokens}, {tokens, tokens}, args, [&](Args local) {
      const Shape each{DType::kF32, local[1].dims()};
      return custom_call(local, {.target = "tessera.cross_entropy",
                                 .backend_config = region.config(),
                                 .results = {each, each}});
    });
  };
  const CustomVjp vjp = [region, logits, tokens](Args args, Args results, Args cotangents) {
    const auto or_zeros = [&](Value cotangent) {
      return cotangent.defined() ? cotangent : zeros(args[0].graph(), results[0].shape());
    };
    const Value all[] = {args[0], args[1], results[0], or_zeros(cotangents[0]),
                         or_zeros(cotangents[1])};
    Values grads =
        region.run({logits, tokens, tokens, tokens, tokens}, {logits}, all, [&](Args local) {
          return custom_call(local, {.target = "tessera.cross_entropy_gradient",
                                     .backend_config = region.config(),
                                     .results = {local[0].shape()}});
        });
    grads.emplace_back();  // targets have none
    return grads;
  };
  const Value args[] = {logits_BTV, targets_BT};
  const Values results = custom_gradient(forward, vjp, args);
  return {results[0], results[1]};
}

}  // namespace tessera
