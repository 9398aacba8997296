#pragma once

#include "tessera/ir/graph.h"
#include "tessera/nn/kernel_region.h"

namespace tessera {

/// The residual stream after an addition, and what the next layer reads of it.
struct NormedStream {
  Value stream;  ///< [B,T,D]
  Value normed;  ///< rms_norm(stream, scale, epsilon)
};
/// x + added, or x where `added` is undefined, and its norm; by the kernel "rms_norm" where
/// `kernels` has it and no device has a part of a row, else by the ops. x, added: [B,T,D], laid out
/// as the stream is; scale: [D], of the same dtype.
NormedStream norm_stream(Value x, Value added, Value scale, double epsilon, const Kernels& kernels);

}  // namespace tessera
