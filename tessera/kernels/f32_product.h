#pragma once

#include "tessera/kernels/product.h"

namespace tessera::kernels {

/// Whether multiply_f32 is the fastest here: on processors with AVX-512 or AVX2 that are not
/// Intel's, where it was not measured.
bool has_f32_product();
/// A product of f32 operands, cut among up to `threads` threads. Wherever processor() is
/// at least kAvx2.
void multiply_f32(const Product& product, int threads, const void* a, const void* b, void* c);

}  // namespace tessera::kernels
