#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/kernels/product.h"
#include "tessera/ops/linear.h"

namespace tessera::kernels {

/// A dim over which products are repeated: its size, and how far apart the operands and results of
/// two neighbours lie, in elements (0: the same one).
struct BatchDim {
  int64_t size, a, b, c;
  auto operator<=>(const BatchDim&) const = default;
};

/// A dot_general as products of matrices.
struct MatmulPlan {
  Product product;
  std::vector<BatchDim> batch;  ///< the outermost first

  int64_t batch_size() const;
};

/// How to compute a dot_general of these operands, or nothing: for what is too small to be worth a
/// call, is empty, or cannot be walked with one stride a dim. Neighbouring dims become one where
/// they lie so in every tensor.
std::optional<MatmulPlan> plan_matmul(const DotAttrs& attrs, const Shape& lhs, const Shape& rhs);

/// Computes it with up to `threads` threads.
void run_matmul(const MatmulPlan& plan, int threads, const void* a, const void* b, void* c);

}  // namespace tessera::kernels
