#pragma once

#include "tessera/ir/graph.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// silu(gate) · up, by the kernel "swiglu" where `kernels` has it, else by the ops. [B,T,F] both.
Value gated(Value gate_BTF, Value up_BTF, const Kernels& kernels);

}  // namespace tessera
