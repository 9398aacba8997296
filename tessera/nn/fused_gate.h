#pragma once

#include <string>
#include <vector>

#include "tessera/nn/activation.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// Whether fused_gate takes the product of these activations with gate and up: the kernel "swiglu"
/// is chosen, bf16 or f32, not empty.
bool can_fuse_gate(Value x, const Kernels& kernels);

/// act(gate) · up of [..,2,F], gate and then up, by the kernel "swiglu" → [..,F], whose dims have
/// these logical names. Gate and up are of one product, so that what it multiplies is read once,
/// and its gradient is one product too, not the sum of two.
Value fused_gate(Value both_CF, Activation activation, std::vector<std::string> names,
                 const KernelUse& kernels);

/// How an input is multiplied by gate and by up, and what becomes of it.
struct GateProducts {
  const char* each;                ///< the einsum of the input and either weight, [..,F]
  const char* both;                ///< of the input and both side by side, [..,2,F]
  std::vector<std::string> names;  ///< of the result's dims
  Activation activation;
  Kernels kernels;
};
/// act(gate x) · up x: as one product and by fused_gate() where that takes it, else by two and by
/// ops. Activations are named "mlpwi", or "mlpwi_0" and "mlpwi_1".
Value gated(Value x, Value gate, Value up, const GateProducts& how);

}  // namespace tessera
