#pragma once

#include <vector>

#include "tessera/nn/kernel_region.h"
#include "tessera/train/optimizer.h"

/// AdamW by the kernel "adamw": in place, and, with layers that are not scanned, from the layers'
/// own gradients, which are never stacked nor widened.
namespace tessera {

/// Whether it takes these: `kernels` has it, all is on one device, and moments are f32.
bool can_fuse_adamw(const OptimizerConfig& config, const Kernels& kernels);

/// Arrays that, one after the other, are the gradient's elements in their order: itself, or what it
/// was stacked from; bf16 where it was widened.
std::vector<Value> gradient_pieces(Value grad);

/// adamw_rule's update. `step.grad` is not used, `step.raw_grad` and `step.grad_factor` are.
ParamNext fused_adamw(const ParamStep& step, const OptimizerConfig& config,
                      const KernelUse& kernels);

/// f32[n]: of each gradient the sum of its squares.
Value fused_sums_of_squares(const Tree<Value>& grads, const KernelUse& kernels);

}  // namespace tessera
