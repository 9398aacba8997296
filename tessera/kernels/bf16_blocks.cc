#include "tessera/kernels/bf16_blocks.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "tessera/kernels/product.h"

// All below is only called where the processor has it.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")

namespace tessera::kernels::bf16 {
namespace {

constexpr int64_t kLanes = 16;    // sums in a register
constexpr int64_t kTileRows = 6;  // 6 x 4 registers of sums, 4 of the second matrix
constexpr int64_t kDepth = 768;   // rows of the second matrix at a time: a panel's 96 KB stay near
constexpr int64_t kMostRows = 192;  // that are copied as lines of pairs, so that these stay near

int64_t even(int64_t k) { return (k + 1) / 2 * 2; }
int64_t in_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
// An odd number of cache lines, so that lines of pairs do not all fall into the same part of the
// cache.
int64_t line_of_pairs(int64_t rows) { return 2 * kLanes * (in_lanes(rows) / kLanes | 1); }

/// A tile's operands; strides of the first matrix in bytes.
struct Tile {
  const char* a;
  int64_t row, pair;
  const uint16_t* b;
  int64_t pairs;
  const float* from;  // what the sums begin with; null: zero
  int64_t from_row;
  Target to;
  __mmask16 last;  // of the last 16 columns, those that there are
};

inline __attribute__((always_inline)) __m512bh as_bf16(__m512i x) { return (__m512bh)x; }

template <int kRows, int kVectors>
void tile(const Tile& t) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const __mmask16 mask = j == kVectors - 1 ? t.last : 0xFFFF;
      sums[i][j] = t.from == nullptr
                       ? _mm512_setzero_ps()
                       : _mm512_maskz_loadu_ps(mask, t.from + i * t.from_row + j * kLanes);
    }
  }
  const char* a = t.a;
  const uint16_t* b = t.b;
  for (int64_t p = 0; p < t.pairs; ++p) {
    __m512i columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) columns[j] = _mm512_load_si512(b + 2 * j * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      int32_t two;
      std::memcpy(&two, a + i * t.row, sizeof(two));
      const __m512bh both = as_bf16(_mm512_set1_epi32(two));
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        sums[i][j] = _mm512_dpbf16_ps(sums[i][j], both, as_bf16(columns[j]));
    }
    a += t.pair;
    b += 2 * kVectors * kLanes;
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const __mmask16 mask = j == kVectors - 1 ? t.last : 0xFFFF;
      const int64_t place = i * t.to.row + j * kLanes;
      if (t.to.is_bf16) {
        _mm256_mask_storeu_epi16(static_cast<uint16_t*>(t.to.data) + place, mask,
                                 (__m256i)_mm512_cvtneps_pbh(sums[i][j]));
      } else {
        _mm512_mask_storeu_ps(static_cast<float*>(t.to.data) + place, mask, sums[i][j]);
      }
    }
  }
}

template <int kVectors>
void tile_of_rows(int64_t rows, const Tile& t) {
  switch (rows) {
    case 1:
      return tile<1, kVectors>(t);
    case 2:
      return tile<2, kVectors>(t);
    case 3:
      return tile<3, kVectors>(t);
    case 4:
      return tile<4, kVectors>(t);
    case 5:
      return tile<5, kVectors>(t);
    default:
      return tile<6, kVectors>(t);
  }
}

void any_tile(int64_t rows, int64_t columns, Tile& t) {
  const int64_t vectors = (columns + kLanes - 1) / kLanes;
  t.last = static_cast<__mmask16>(0xFFFF >> (vectors * kLanes - columns));
  switch (vectors) {
    case 1:
      return tile_of_rows<1>(rows, t);
    case 2:
      return tile_of_rows<2>(rows, t);
    case 3:
      return tile_of_rows<3>(rows, t);
    default:
      return tile_of_rows<4>(rows, t);
  }
}

__mmask32 first_of_32(int64_t count) {
  return count >= 32 ? 0xFFFFFFFF : count <= 0 ? 0 : (1U << count) - 1;
}

// Two lines of up to 32 elements, whose elements take turns in the 64 that come out; `second` may
// be null. Writes 32 or, where `count` is up to 16, only those.
void interleave(const uint16_t* first, const uint16_t* second, int64_t count, uint16_t* to) {
  alignas(64) static constexpr uint16_t kLow[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                    37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                    11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i low = _mm512_load_si512(kLow);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __mmask32 mask = first_of_32(count);
  const __m512i x = _mm512_maskz_loadu_epi16(mask, first);
  const __m512i y = second ? _mm512_maskz_loadu_epi16(mask, second) : _mm512_setzero_si512();
  _mm512_storeu_si512(to, _mm512_permutex2var_epi16(x, low, y));
  if (count > kLanes) _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi16(x, high, y));
}

// Rows of a panel may lie pages apart, where processors look for nothing ahead by themselves: so
// many rows ahead is asked for.
constexpr int64_t kAhead = 16;

inline __attribute__((always_inline)) void fetch_two(const uint16_t* rows, int64_t row,
                                                     int64_t width) {
  for (int64_t j = 0; j < width; j += 32) {
    _mm_prefetch(rows + j, _MM_HINT_T0);
    _mm_prefetch(rows + row + j, _MM_HINT_T0);
  }
}

// 16 lines of 16 pairs become 16 pairs of 16 lines.
inline __attribute__((always_inline)) void turn(__m512i (&r)[16], uint16_t* to, int64_t step,
                                                int64_t lines) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xDD);
    t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
    r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
    r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xDD);
    r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xDD);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i < lines) _mm512_storeu_si512(to + i * step, r[i]);
  }
}

// A panel whose columns are lines in memory.
void pack_columns(const uint16_t* b, int64_t column, int64_t k, int64_t width, uint16_t* to) {
  const int64_t step = 2 * in_lanes(width);
  for (int64_t p = 0; 2 * p < k; p += 16) {
    const __mmask32 mask = first_of_32(k - 2 * p);
    for (int64_t j = 0; j < width; j += kLanes) {
      __m512i lines[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        lines[i] = j + i < width ? _mm512_maskz_loadu_epi16(mask, b + (j + i) * column + 2 * p)
                                 : _mm512_setzero_si512();
      }
      turn(lines, to + p * step + 2 * j, step, even(k) / 2 - p);
    }
  }
}

void pack_rows(const uint16_t* b, int64_t row, int64_t k, int64_t width, uint16_t* to) {
  const int64_t step = 2 * in_lanes(width);
  for (int64_t p = 0; 2 * p < k; ++p) {
    const uint16_t* first = b + 2 * p * row;
    fetch_two(first + kAhead * row, row, width);
    const uint16_t* second = 2 * p + 1 < k ? first + row : nullptr;
    for (int64_t j = 0; j < width; j += 32)
      interleave(first + j, second ? second + j : nullptr, width - j, to + p * step + 2 * j);
  }
}

}  // namespace

void narrow(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const __mmask16 mask = static_cast<__mmask16>(first_of_32(std::min(kLanes, n - i)));
    _mm256_mask_storeu_epi16(to + i, mask,
                             (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i)));
  }
}

int64_t packed_size(int64_t rows, int64_t columns) { return even(rows) * in_lanes(columns); }

void pack_panel(const Matrix& b, int64_t panel, uint16_t* packed) {
  const int64_t first = panel * kPanel, width = std::min(kPanel, b.columns - first);
  uint16_t* to = packed + first * even(b.rows);
  const uint16_t* from = b.data + first * b.column;
  if (b.column == 1) return pack_rows(from, b.row, b.rows, width, to);
  if (b.row == 1) return pack_columns(from, b.column, b.rows, width, to);
  const int64_t step = 2 * in_lanes(width);
  std::fill_n(to, even(b.rows) * in_lanes(width), uint16_t{0});
  for (int64_t r = 0; r < b.rows; ++r) {
    for (int64_t j = 0; j < width; ++j)
      to[r / 2 * step + 2 * j + r % 2] = from[r * b.row + j * b.column];
  }
}

void pack(const Matrix& b, uint16_t* packed) {
  for (int64_t panel = 0; panel < panels_of(b.columns); ++panel) pack_panel(b, panel, packed);
}

bool has_pairs(const Matrix& a) { return a.column == 1 && a.columns % 2 == 0; }

// Rows that stand side by side are copied in lines of pairs, others as rows.
bool lies_in_columns(const Matrix& a) { return a.row == 1 && a.rows <= kMostRows; }

int64_t pairs_size(const Matrix& a) {
  return lies_in_columns(a) ? even(a.columns) / 2 * line_of_pairs(a.rows)
                            : a.rows * even(a.columns);
}

Pairs copied_pairs(const Matrix& a, const uint16_t* to) {
  return lies_in_columns(a) ? Pairs{to, 2, line_of_pairs(a.rows)} : Pairs{to, even(a.columns), 2};
}

Pairs copy_pairs(const Matrix& a, uint16_t* to) {
  const int64_t row = even(a.columns);
  if (lies_in_columns(a)) {
    const int64_t line = line_of_pairs(a.rows);
    for (int64_t p = 0; 2 * p < a.columns; ++p) {
      const uint16_t* first = a.data + 2 * p * a.column;
      const uint16_t* second = 2 * p + 1 < a.columns ? first + a.column : nullptr;
      for (int64_t i = 0; i < a.rows; i += 32)
        interleave(first + i, second ? second + i : nullptr, a.rows - i, to + p * line + 2 * i);
    }
    return copied_pairs(a, to);
  }
  for (int64_t i = 0; i < a.rows; ++i) {
    const uint16_t* from = a.data + i * a.row;
    for (int64_t j = 0; j < a.columns; ++j) to[i * row + j] = from[j * a.column];
    if (row > a.columns) to[i * row + a.columns] = 0;
  }
  return copied_pairs(a, to);
}

void multiply(const Block& block, const Pairs& a, const uint16_t* packed, const Target& c,
              int64_t first_panel) {
  const int64_t k = even(block.k);
  const int64_t parts = std::max<int64_t>(1, quotient_up(k, kDepth));
  const int64_t depth = even((k + parts - 1) / parts);
  // Between parts sums stand in f32: in the target where it is f32, else aside.
  float* sums = static_cast<float*>(c.data);
  int64_t sums_row = c.row;
  if (parts > 1 && c.is_bf16) {
    sums_row = in_lanes(block.n);
    sums = scratch_of<float>(ScratchPlace::kResult, block.m * sums_row);
  }
  for (int64_t first = 0, part = 0; part < parts; first += depth, ++part) {
    const bool ends = part == parts - 1, adds = part > 0 || block.accumulate;
    for (int64_t j = 0; j < block.n; j += kPanel) {
      const int64_t panel = first_panel + j / kPanel, width = std::min(kPanel, block.n - j);
      const uint16_t* b = packed + panel * kPanel * k + first * in_lanes(width);
      for (int64_t i = 0; i < block.m; i += kTileRows) {
        float* here = sums + i * sums_row + j;
        const int64_t place = i * c.row + j;
        void* there = c.is_bf16 ? static_cast<void*>(static_cast<uint16_t*>(c.data) + place)
                                : static_cast<void*>(static_cast<float*>(c.data) + place);
        Tile t{.a = reinterpret_cast<const char*>(a.data + i * a.row + first / 2 * a.pair),
               .row = 2 * a.row,
               .pair = 2 * a.pair,
               .b = b,
               .pairs = std::min(depth, k - first) / 2,
               .from = adds ? here : nullptr,
               .from_row = sums_row,
               .to = ends ? Target{there, c.row, c.is_bf16} : Target{here, sums_row, false},
               .last = 0};
        any_tile(std::min(kTileRows, block.m - i), width, t);
      }
    }
  }
}

}  // namespace tessera::kernels::bf16

#pragma GCC pop_options
