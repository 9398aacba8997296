#include "tessera/kernels/f32_blocks.h"

#include <immintrin.h>

#include <algorithm>

#include "tessera/kernels/processor.h"

namespace tessera::kernels::f32 {
namespace {

constexpr int64_t kDepth = 1024;  // rows of the second matrix at a time: a panel's 256 KB stay near
constexpr int64_t kNearRows = 96;  // of the first matrix, that stay near for all strips
constexpr int64_t kLine = 16;      // numbers in a line of the cache

constexpr int64_t in_lines(int64_t n) { return (n + kLine - 1) / kLine * kLine; }

// For the time that a tile takes; harmless where there is nothing.
inline void prefetch_to_write(const float* place) { __builtin_prefetch(place, 1, 3); }

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {

using Vector = __m256;
struct Mask {
  __m256i lanes;
  bool all;  // AMD's take masked stores slowly
};
constexpr int64_t kLanes = 8;
constexpr int kVectors = 2;

inline Vector zero() { return _mm256_setzero_ps(); }
inline Vector load(const float* from) { return _mm256_load_ps(from); }
inline Vector load(const float* from, Mask mask) {
  return mask.all ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, mask.lanes);
}
inline void store(Vector x, float* to, Mask mask) {
  return mask.all ? _mm256_storeu_ps(to, x) : _mm256_maskstore_ps(to, mask.lanes, x);
}
inline Vector everywhere(float x) { return _mm256_set1_ps(x); }
inline Vector add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
inline Vector multiply_add(Vector x, Vector y, Vector z) { return _mm256_fmadd_ps(x, y, z); }
inline Mask first_lanes(int64_t count) {
  const __m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return {lanes, count >= kLanes};
}

#include "tessera/kernels/f32_blocks_inl.h"

// 8 lines of 8 numbers, of which there are `lines` and `count`, become `count` of 8.
inline void turn(const float* from, int64_t step, int64_t lines, int64_t count, float* to,
                 int64_t to_step) {
  const Mask mask = first_lanes(count);
  __m256 r[8], t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i] = i < lines ? load(from + i * step, mask) : zero();
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    if (i < count) _mm256_store_ps(to + i * to_step, t[i]);
  }
}

// A strip whose columns are lines in memory.
inline void pack_columns(const float* b, int64_t column, int64_t k, int64_t width, float* to) {
  const int64_t line = in_lines(width);
  // What is written in one go stays in the nearest cache, and lines are read whole, since those of
  // columns that lie a power of two apart would push each other out.
  constexpr int64_t kGo = 64;
  for (int64_t first = 0; first < k; first += kGo) {
    const int64_t end = std::min(k, first + kGo);
    for (int64_t j = 0; j < line; j += 8) {
      const bool last = j + 8 >= line;
      const float* next = b + (last ? 0 : j + 8) * column + (last ? end : first);
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i) {
#pragma GCC unroll 4
        for (int64_t p = 0; p < kGo; p += kLine) __builtin_prefetch(next + i * column + p);
      }
      for (int64_t p = first; p < end; p += 8) {
        turn(b + j * column + p, column, width - j, std::min<int64_t>(8, k - p), to + p * line + j,
             line);
      }
    }
  }
}

// One whose rows are.
inline void pack_rows(const float* b, int64_t row, int64_t k, int64_t width, float* to) {
  const int64_t line = in_lines(width);
  for (int64_t p = 0; p < k; ++p) {
    for (int64_t j = 0; j < width; j += kLine) __builtin_prefetch(b + (p + 16) * row + j);
    for (int64_t j = 0; j < line; j += 8)
      _mm256_store_ps(to + p * line + j, load(b + p * row + j, first_lanes(width - j)));
  }
}

}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
namespace avx512 {

using Vector = __m512;
using Mask = __mmask16;
constexpr int64_t kLanes = 16;
constexpr int kVectors = 4;

inline Vector zero() { return _mm512_setzero_ps(); }
inline Vector load(const float* from) { return _mm512_load_ps(from); }
inline Vector load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
inline void store(Vector x, float* to, Mask mask) { _mm512_mask_storeu_ps(to, mask, x); }
inline Vector everywhere(float x) { return _mm512_set1_ps(x); }
inline Vector add(Vector x, Vector y) { return _mm512_add_ps(x, y); }
inline Vector multiply_add(Vector x, Vector y, Vector z) { return _mm512_fmadd_ps(x, y, z); }
inline Mask first_lanes(int64_t count) { return static_cast<Mask>((1U << count) - 1); }

#include "tessera/kernels/f32_blocks_inl.h"

}  // namespace avx512
#pragma GCC pop_options

// Older processors: the same strips as for AVX2, one number of the first matrix at a time.
namespace any {

void multiply(const Block& block, const First& a, const float* packed, const Target& c,
              int64_t first_panel) {
  for (int64_t j = 0; j < block.n; j += kLine) {
    const int64_t width = std::min(kLine, block.n - j);
    const float* b = packed + (first_panel * kPanel + j) * block.k;
    for (int64_t i = 0; i < block.m; ++i) {
      float* to = c.data + i * c.row + j;
      float sums[kLine] = {};
      for (int64_t p = 0; p < block.k; ++p) {
        const float one = a.data[i * a.row + p * a.column];
        for (int64_t l = 0; l < kLine; ++l) sums[l] += one * b[p * kLine + l];
      }
      for (int64_t l = 0; l < width; ++l) to[l] = block.accumulate ? to[l] + sums[l] : sums[l];
    }
  }
}

}  // namespace any

int64_t strip() { return processor() >= Processor::kAvx512 ? avx512::kStrip : avx2::kStrip; }

// An odd number of cache lines, so that lines of a copy do not all fall into the same part of the
// cache.
int64_t line_of(int64_t rows) { return kLine * (in_lines(rows) / kLine | 1); }

}  // namespace

int64_t packed_size(int64_t rows, int64_t columns) { return rows * in_lines(columns); }

void pack_panel(const Matrix& b, int64_t panel, float* packed) {
  const int64_t first = panel * kPanel, end = std::min(first + kPanel, b.columns), step = strip();
  for (int64_t j = first; j < end; j += step) {
    const int64_t width = std::min(step, end - j);
    const float* from = b.data + j * b.column;
    float* to = packed + j * b.rows;
    if (b.column == 1 && processor() >= Processor::kAvx2) {
      avx2::pack_rows(from, b.row, b.rows, width, to);
    } else if (b.row == 1 && processor() >= Processor::kAvx2) {
      avx2::pack_columns(from, b.column, b.rows, width, to);
    } else {
      std::fill_n(to, b.rows * in_lines(width), 0.0f);
      for (int64_t r = 0; r < b.rows; ++r) {
        for (int64_t i = 0; i < width; ++i)
          to[r * in_lines(width) + i] = from[r * b.row + i * b.column];
      }
    }
  }
}

void pack(const Matrix& b, float* packed) {
  for (int64_t panel = 0; panel < panels_of(b.columns); ++panel) pack_panel(b, panel, packed);
}

int64_t copy_size(const Matrix& a) { return a.columns * line_of(a.rows); }

First copy_columns(const Matrix& a, float* to) {
  const int64_t line = line_of(a.rows);
  for (int64_t p = 0; p < a.columns; ++p) {
    const float* from = a.data + p * a.column;
    for (int64_t i = 0; i < a.rows; i += kLine) __builtin_prefetch(from + a.column + i);
    std::copy_n(from, a.rows, to + p * line);
  }
  return {to, 1, line};
}

void multiply(const Block& block, const First& a, const float* packed, const Target& c,
              int64_t first_panel) {
  if (processor() >= Processor::kAvx512) return avx512::multiply(block, a, packed, c, first_panel);
  if (processor() >= Processor::kAvx2) return avx2::multiply(block, a, packed, c, first_panel);
  any::multiply(block, a, packed, c, first_panel);
}

}  // namespace tessera::kernels::f32
