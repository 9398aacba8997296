#pragma once

#include "tessera/kernels/blocks.h"

/// Products of bf16 matrices in the registers of processors with AVX512-BF16, on one thread. Sums
/// are in f32. Only where processor() is kAvx512Bf16.
namespace tessera::kernels::bf16 {

using Matrix = StridedMatrix<uint16_t>;

/// The second matrix [k,n] in the order that the registers take it: panels of kPanel columns, each
/// with a line for two rows, in which those two take turns; zeros fill up an odd row and the last
/// 16 columns.
/// What all panels need, in elements; aligned to 64 bytes.
int64_t packed_size(int64_t rows, int64_t columns);
/// Packs one panel into its place in `packed`.
void pack_panel(const Matrix& b, int64_t panel, uint16_t* packed);
void pack(const Matrix& b, uint16_t* packed);

/// The first matrix [m,k]: element (i, 2 p) is data[i·row + p·pair], and (i, 2 p + 1) stands behind
/// it.
struct Pairs {
  const uint16_t* data;
  int64_t row, pair;
};
/// Whether it is so as it lies.
bool has_pairs(const Matrix& a);
inline Pairs pairs_of(const Matrix& a) { return {a.data, a.row, 2}; }
/// A copy that is so, at `to`, which has pairs_size(a) elements; and the same copy again.
int64_t pairs_size(const Matrix& a);
Pairs copy_pairs(const Matrix& a, uint16_t* to);
Pairs copied_pairs(const Matrix& a, const uint16_t* to);

/// To the nearest bf16, ties to even.
void narrow(const float* from, uint16_t* to, int64_t n);

/// Where a result goes, and in what type: rows of `row` elements.
struct Target {
  void* data;
  int64_t row;
  bool is_bf16;
};
void multiply(const Block& block, const Pairs& a, const uint16_t* packed, const Target& c,
              int64_t first_panel = 0);

}  // namespace tessera::kernels::bf16
