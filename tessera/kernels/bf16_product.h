#pragma once

#include "tessera/kernels/product.h"

namespace tessera::kernels {

/// Whether multiply_bf16 is the fastest here: on AMD's processors with AVX512-BF16. Intel's that
/// have AMX do better by oneDNN, those that have not multiply f32 faster.
bool has_bf16_product();
/// A product of bf16 operands, cut among up to `threads` threads. Only where has_bf16_product().
void multiply_bf16(const Product& product, int threads, const void* a, const void* b, void* c);

}  // namespace tessera::kernels
