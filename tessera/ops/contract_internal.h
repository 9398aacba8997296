#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/ops/linear.h"

namespace tessera::linear_internal {

/// A tensor whose dims have labels: what matmul, einsum and dot_general's gradient think in.
struct Labelled {
  Value value;
  std::vector<int> labels;  ///< one a dim, no label twice
};

/// The tensor with exactly the labels of `order`, in that order: at most one transpose.
Labelled arrange(const Labelled& x, std::span<const int> order);

/// Sums away the labels for which `keep` has no entry.
Labelled sum_except(const Labelled& x, std::span<const int> keep);

/// One dot_general over the labels that both have: those in `keep` are batch dims, others are
/// contracted. Labels of one operand alone must be in `keep`. The operands are put in the order
/// that spares a transpose to `keep`'s order, if there is one; the result is not transposed.
Labelled contract(const Labelled& a, const Labelled& b, std::span<const int> keep,
                  const DotOptions& options);

/// " (layers.mlp)": the present scope for the end of a message, or nothing.
std::string scope_suffix(Value value);

}  // namespace tessera::linear_internal
