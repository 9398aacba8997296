#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tessera/kernels/attention_core.h"
#include "tessera/kernels/blocks.h"
#include "tessera/kernels/product.h"
#include "tessera/kernels/rows.h"

/// What attention is made of besides products.
namespace tessera::kernels {

// The logarithm of the sum of a query that sees nothing: its weights come out as 0.
inline constexpr float kNothingSeen = 1e30f;

/// Of queries and of keys.
inline constexpr int64_t kBlock = kPanel;
inline int64_t blocks_of(int64_t size) { return panels_of(size); }

struct Range {
  int64_t first, size;
};
inline Range block_of(int64_t size, int64_t index) {
  return {index * kBlock, std::min(kBlock, size - index * kBlock)};
}

/// Pieces of one allocation, each aligned for vectors.
class Arena {
 public:
  /// Of float or, for bf16, uint16_t.
  template <typename Number>
  Number* numbers(int64_t count) {
    constexpr int64_t kEach = sizeof(float) / sizeof(Number);
    return reinterpret_cast<Number*>(floats((count + kEach - 1) / kEach));
  }
  float* floats(int64_t count) {
    const int64_t start = size_;
    size_ += (count + 15) / 16 * 16;
    return base_ == nullptr ? nullptr : base_ + start;
  }
  /// Lays out by calling `layout` twice: to count, and to hand out.
  template <typename Layout>
  static void lay_out(const Layout& layout) {
    Arena arena;
    layout(arena);
    arena.base_ = scratch_of<float>(ScratchPlace::kCaller, arena.size_);
    arena.size_ = 0;
    layout(arena);
  }

 private:
  float* base_ = nullptr;
  int64_t size_ = 0;
};

/// One row of the batch and one key head: what all its blocks share.
struct Head {
  const AttentionProblem& p;
  int64_t b, k;
  const int32_t *segments_t, *segments_s;
  rows::ScoreRule rule;

  Head(const AttentionProblem& problem, int64_t task)
      : p(problem),
        b(task / problem.k),
        k(task % problem.k),
        segments_t(problem.segments_bt + b * problem.t),
        segments_s(problem.segments_bs + b * problem.s),
        rule{.factor = static_cast<float>(1 / std::sqrt(static_cast<double>(problem.c))),
             .soft_cap = problem.soft_cap,
             .window = problem.window} {}

  int64_t groups() const { return p.h / p.k; }
  int64_t query_head(int64_t g) const { return k * groups() + g; }
  /// The first element of a query head in [B,T,H,C], of this key head in [B,S,K,C].
  int64_t query_start(int64_t g) const { return b * p.t * p.h * p.c + query_head(g) * p.c; }
  int64_t key_start() const { return b * p.s * p.k * p.c + k * p.c; }
  int64_t log_sum_start(int64_t g) const { return (b * p.h + query_head(g)) * p.t; }

  /// Some of its queries and keys, and who of them sees whom.
  rows::ScoreBlock block(Range t, Range s, bool all_seen) const {
    return {.rule = rule,
            .queries = t.size,
            .keys = s.size,
            .of_queries = {p.places_t + t.first, segments_t + t.first},
            .of_keys = {p.places_s + s.first, segments_s + s.first},
            .all_seen = all_seen};
  }

  /// Turns a head's rows, those of the positions `range`, which are `stride` elements apart, into
  /// dense ones.
  template <typename T>
  void rotate(const RotaryAngles& angles, const T* from, Range range, int64_t stride, T* to) const {
    turn(angles, range, from, stride, to, p.c, /*back=*/false);
  }
  /// The same of dense rows, where there are angles.
  void rotate_in_place(const RotaryAngles& angles, float* rows, Range range) const {
    if (angles.cos != nullptr) turn(angles, range, rows, p.c, rows, p.c, /*back=*/false);
  }
  void rotate_back_in_place(const RotaryAngles& angles, float* rows, Range range) const {
    if (angles.cos != nullptr) turn(angles, range, rows, p.c, rows, p.c, /*back=*/true);
  }

 private:
  template <typename T>
  void turn(const RotaryAngles& angles, Range range, const T* from, int64_t from_row, T* to,
            int64_t to_row, bool back) const {
    const int64_t half = p.c / 2;
    for (int64_t i = 0; i < range.size; ++i) {
      const int64_t angle = b * angles.batch + (range.first + i) * half;
      rows::rotate(from + i * from_row, angles.cos + angle, angles.sin + angle, back,
                   to + i * to_row, half);
    }
  }
};

/// Which blocks of queries may see which blocks of keys, by their places and segments.
class Visibility {
 public:
  explicit Visibility(const Head& head)
      : window_(head.p.window),
        queries_(bounds_of(head.p.places_t, head.segments_t, head.p.t)),
        keys_(bounds_of(head.p.places_s, head.segments_s, head.p.s)) {}
  bool any(int64_t query_block, int64_t key_block) const {
    const Bounds &t = queries_[query_block], &s = keys_[key_block];
    return s.first_place <= t.last_place && t.first_place - s.last_place < window_ &&
           s.first_segment <= t.last_segment && t.first_segment <= s.last_segment;
  }
  /// Whether every query of a block sees every key of one.
  bool all(int64_t query_block, int64_t key_block) const {
    const Bounds &t = queries_[query_block], &s = keys_[key_block];
    return s.last_place <= t.first_place && t.last_place - s.first_place < window_ &&
           s.first_segment == s.last_segment && t.first_segment == t.last_segment &&
           s.first_segment == t.first_segment;
  }

 private:
  struct Bounds {
    int32_t first_place, last_place, first_segment, last_segment;
  };
  static std::vector<Bounds> bounds_of(const int32_t* places, const int32_t* segments,
                                       int64_t size) {
    std::vector<Bounds> all;
    for (int64_t first = 0; first < size; first += kBlock) {
      const int64_t end = std::min(size, first + kBlock);
      const auto [low, high] = std::minmax_element(places + first, places + end);
      const auto [low_segment, high_segment] =
          std::minmax_element(segments + first, segments + end);
      all.push_back({*low, *high, *low_segment, *high_segment});
    }
    return all;
  }

  int32_t window_;
  std::vector<Bounds> queries_, keys_;
};

/// The softmax of a block of queries over all keys, a block of keys after the other, and what it
/// mixes of their values: f32[queries,C], kept up to a factor until the end.
class RunningSoftmax {
 public:
  RunningSoftmax(const Head& head, Range t, float* mixed) : head_(head), t_(t), mixed_(mixed) {
    std::fill_n(largest_, kBlock, -std::numeric_limits<float>::infinity());
    std::fill_n(sums_, kBlock, 0.0f);
    std::fill_n(mixed_, t_.size * head_.p.c, 0.0f);
  }

  /// Makes weights of the block's products with a block of keys, which have a line of kBlock for
  /// each query.
  void weigh(Range s, bool all_seen, float* scores) {
    rows::weigh(head_.block(t_, s, all_seen), scores, kBlock, {largest_, sums_, mixed_, head_.p.c});
  }

  /// `log_sums`: of the block's queries.
  void end(float* log_sums) {
    const int64_t width = head_.p.c;
    for (int64_t row = 0; row < t_.size; ++row) {
      const bool any = sums_[row] != 0;
      rows::scale(mixed_ + row * width, any ? 1 / sums_[row] : 0.0f, width);
      log_sums[row] = any ? largest_[row] + std::log(sums_[row]) : kNothingSeen;
    }
  }

 private:
  const Head& head_;
  const Range t_;
  float* const mixed_;
  float largest_[kBlock], sums_[kBlock];
};

}  // namespace tessera::kernels
