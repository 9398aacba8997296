#pragma once

#include "tessera/ir/dtype.h"

namespace tessera {

/// The dtype in which sums and exponentials over values of `dtype` are taken: f32, and f64 for f64,
/// in which tests check gradients.
inline DType wide_dtype(DType dtype) { return dtype == DType::kF64 ? dtype : DType::kF32; }

}  // namespace tessera
