// No #pragma once: f32_blocks.cc includes this once for each kind of processor, each time in
// another namespace, with Vector, what is done with it, kLanes and kVectors before it.

constexpr int64_t kStrip = kLanes * kVectors;
constexpr int64_t kAhead = kLine;  // steps, for which a line of each row is enough
constexpr int64_t kTileRows = 6;   // of kVectors registers of sums

/// A tile's operands.
struct Tile {
  const float* a;
  int64_t row, column;
  const float* b;
  int64_t k;
  float* to;
  int64_t to_row;
  bool adds;
  Mask last;  // of the columns of the last register, those that there are
};

template <int kRows, int kWidth>
void tile(const Tile& t) {
  constexpr int64_t kStep = in_lines(kWidth * kLanes);
  Vector sums[kRows][kWidth];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) {
      sums[i][j] = zero();
      prefetch_to_write(t.to + i * t.to_row + j * kLanes);
    }
  }
  const float* a = t.a;
  const float* b = t.b;
  for (int64_t rest = t.k; rest > 0; rest -= kAhead) {
    // The next tile's rows, as much of them as this one reads in these steps, into the second
    // cache: in the first, rows a power of two apart would push out this tile's. Lines of columns
    // come by themselves.
    if (t.column == 1) {
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) __builtin_prefetch(a + (kRows + i) * t.row, 0, 2);
    }
    const float* end = b + std::min(rest, kAhead) * kStep;
    for (; b != end; b += kStep, a += t.column) {
      Vector columns[kWidth];
#pragma GCC unroll 4
      for (int j = 0; j < kWidth; ++j) columns[j] = load(b + j * kLanes);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const Vector one = everywhere(a[i * t.row]);
#pragma GCC unroll 4
        for (int j = 0; j < kWidth; ++j) sums[i][j] = multiply_add(one, columns[j], sums[i][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kWidth; ++j) {
      float* to = t.to + i * t.to_row + j * kLanes;
      const Mask mask = j == kWidth - 1 ? t.last : first_lanes(kLanes);
      store(t.adds ? add(sums[i][j], load(to, mask)) : sums[i][j], to, mask);
    }
  }
}

template <int kWidth>
void tile_of_rows(int64_t rows, const Tile& t) {
  switch (rows) {
    case 1:
      return tile<1, kWidth>(t);
    case 2:
      return tile<2, kWidth>(t);
    case 3:
      return tile<3, kWidth>(t);
    case 4:
      return tile<4, kWidth>(t);
    case 5:
      return tile<5, kWidth>(t);
    default:
      return tile<6, kWidth>(t);
  }
}

// Of up to kStrip columns.
inline void any_tile(int64_t rows, int64_t columns, Tile& t) {
  const int64_t width = (columns + kLanes - 1) / kLanes;
  t.last = first_lanes(columns - (width - 1) * kLanes);
  if constexpr (kVectors > 2) {
    if (width == 3) return tile_of_rows<3>(rows, t);
    if (width == 4) return tile_of_rows<4>(rows, t);
  }
  return width == 1 ? tile_of_rows<1>(rows, t) : tile_of_rows<2>(rows, t);
}

inline void multiply(const Block& block, const First& a, const float* packed, const Target& c,
                     int64_t first_panel) {
  const int64_t parts = std::max<int64_t>(1, quotient_up(block.k, kDepth));
  const int64_t depth = quotient_up(block.k, parts);
  for (int64_t first = 0; first < block.k; first += depth) {
    for (int64_t rows = 0; rows < block.m; rows += kNearRows) {
      const int64_t end = std::min(block.m, rows + kNearRows);
      for (int64_t j = 0; j < block.n; j += kStrip) {
        const int64_t width = std::min(kStrip, block.n - j);
        for (int64_t i = rows; i < end; i += kTileRows) {
          Tile t{.a = a.data + i * a.row + first * a.column,
                 .row = a.row,
                 .column = a.column,
                 .b = packed + (first_panel * kPanel + j) * block.k + first * in_lines(width),
                 .k = std::min(depth, block.k - first),
                 .to = c.data + i * c.row + j,
                 .to_row = c.row,
                 .adds = first > 0 || block.accumulate,
                 .last = {}};
          any_tile(std::min(kTileRows, end - i), width, t);
        }
      }
    }
  }
}
