#pragma once

#include "tessera/kernels/blocks.h"

/// Products of f32 matrices in registers, on one thread; plain loops where processor() is less than
/// kAvx2. What was packed for one processor is not for another.
namespace tessera::kernels::f32 {

using Matrix = StridedMatrix<float>;

/// The second matrix [k,n] in the order that the registers take it: panels of kPanel columns, each
/// in strips as wide as the registers hold; zeros fill up the last 16 columns.
/// What all panels need, in elements; aligned to 64 bytes.
int64_t packed_size(int64_t rows, int64_t columns);
/// Packs one panel into its place in `packed`.
void pack_panel(const Matrix& b, int64_t panel, float* packed);
void pack(const Matrix& b, float* packed);

/// The first matrix [m,k]: element (i, p) is data[i·row + p·column]. Any strides do.
struct First {
  const float* data;
  int64_t row, column;
};
inline First first_of(const Matrix& a) { return {a.data, a.row, a.column}; }
/// A copy of one that lies in columns (a.row is 1), at `to`, which has copy_size(a) elements: its
/// lines stand close together, so a large one is read faster.
int64_t copy_size(const Matrix& a);
First copy_columns(const Matrix& a, float* to);

/// Where a result goes: rows of `row` elements.
struct Target {
  float* data;
  int64_t row;
};
void multiply(const Block& block, const First& a, const float* packed, const Target& c,
              int64_t first_panel = 0);

}  // namespace tessera::kernels::f32
