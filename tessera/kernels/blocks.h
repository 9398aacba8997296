#pragma once

#include <cstdint>

/// What products in registers are told of, in bf16 and in f32.
namespace tessera::kernels {

/// How many pieces of `size` hold x.
inline int64_t quotient_up(int64_t x, int64_t size) { return (x + size - 1) / size; }

/// A matrix as it lies: strides in elements.
template <typename T>
struct StridedMatrix {
  const T* data;
  int64_t rows, columns;
  int64_t row, column;
};

/// The second matrix is packed, and multiplied, in panels of so many columns, the last one smaller.
constexpr int64_t kPanel = 64;
inline int64_t panels_of(int64_t columns) { return quotient_up(columns, kPanel); }

/// [m,n] = a · b for the columns from a panel on, n of them, which end with a panel. `accumulate`:
/// added to the target, which is f32 then.
struct Block {
  int64_t m, n, k;
  bool accumulate = false;
};

}  // namespace tessera::kernels
