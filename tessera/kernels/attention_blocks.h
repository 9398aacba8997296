#pragma once

#include "tessera/kernels/attention_internal.h"
#include "tessera/kernels/bf16_blocks.h"
#include "tessera/kernels/f32_blocks.h"

/// The products that attention is made of, of blocks of kBlock queries or keys: once of bf16 and
/// once of f32, under the same names.
namespace tessera::kernels {

/// Of bf16, where processor() is kAvx512Bf16. Weights are rounded to bf16 before they are
/// multiplied.
struct Bf16Blocks {
  using Number = uint16_t;
  using Matrix = bf16::Matrix;
  using First = bf16::Pairs;
  static constexpr bool kCopiesLines = true;

  static int64_t packed_size(int64_t rows, int64_t columns) {
    return bf16::packed_size(rows, columns);
  }
  static void pack(const Matrix& b, Number* packed) { bf16::pack(b, packed); }
  /// A first matrix that lies in rows: as it lies, or, of an odd width, copied.
  static First rows(const Matrix& a, Number* copy) {
    return bf16::has_pairs(a) ? bf16::pairs_of(a) : bf16::copy_pairs(a, copy);
  }
  /// Lines of `size` numbers, kBlock apart, as a first matrix; `copy` has kBlock² elements.
  static First lines(const float* from, int64_t count, int64_t size, Number* copy) {
    for (int64_t i = 0; i < count; ++i) {
      bf16::narrow(from + i * kBlock, copy + i * kBlock, size);
      if (size % 2 != 0) copy[i * kBlock + size] = 0;  // pairs are multiplied whole
    }
    return {copy, kBlock, 2};
  }
  /// The same lines turned round, from what lines() has made.
  static First turned(const First& lines, int64_t count, int64_t size, Number* copy) {
    return bf16::copy_pairs({lines.data, size, count, 1, kBlock}, copy);
  }
  static int64_t turned_size() { return bf16::pairs_size({nullptr, kBlock, kBlock, 1, kBlock}); }
  static void multiply(const Block& block, const First& a, const Number* packed, float* to,
                       int64_t row, int64_t first_panel = 0) {
    bf16::multiply(block, a, packed, {to, row, false}, first_panel);
  }
};

/// Of f32, on any processor; operands of bf16 are widened.
struct F32Blocks {
  using Number = float;
  using Matrix = f32::Matrix;
  using First = f32::First;
  static constexpr bool kCopiesLines = false;

  static int64_t packed_size(int64_t rows, int64_t columns) {
    return f32::packed_size(rows, columns);
  }
  static void pack(const Matrix& b, Number* packed) { f32::pack(b, packed); }
  static First rows(const Matrix& a, Number* /*copy*/) { return f32::first_of(a); }
  static First lines(const float* from, int64_t /*count*/, int64_t /*size*/, Number* /*copy*/) {
    return {from, kBlock, 1};
  }
  static First turned(const First& lines, int64_t /*count*/, int64_t /*size*/, Number* /*copy*/) {
    return {lines.data, 1, kBlock};
  }
  static int64_t turned_size() { return 0; }
  static void multiply(const Block& block, const First& a, const Number* packed, float* to,
                       int64_t row, int64_t first_panel = 0) {
    f32::multiply(block, a, packed, {to, row}, first_panel);
  }
};

}  // namespace tessera::kernels
