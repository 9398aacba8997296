#include "tessera/kernels/attention_core.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tessera/kernels/attention_blocks.h"
#include "tessera/kernels/attention_internal.h"
#include "tessera/kernels/bf16_product.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera::kernels {
namespace {

// In what follows B is the products' kind and S the type of what a call is given, float or, for
// bf16, uint16_t.

/// Some rows of a head as they are multiplied.
template <typename B>
struct HeadRows {
  const typename B::Number* data;
  int64_t rows, row, width;

  typename B::Matrix all() const { return {data, rows, width, row, 1}; }
  typename B::Matrix block(int64_t index) const {
    const Range range = block_of(rows, index);
    return {data + range.first * row, range.size, width, row, 1};
  }
  typename B::Matrix columns() const { return {data, width, rows, 1, row}; }
};

/// Rows of a head as they are given: the first of them, `stride` elements from one to the next,
/// and the angles that they are turned by.
template <typename B, typename S>
struct GivenRows {
  const S* data;
  int64_t rows, stride;
  RotaryAngles angles = {};

  static constexpr bool kSame = std::is_same_v<S, typename B::Number>;
  bool copies() const { return !kSame || angles.cos != nullptr; }

  /// Those of the positions `range`: as they lie, or in `copy`.
  HeadRows<B> load(const Head& head, Range range, typename B::Number* copy) const {
    const S* from = data + range.first * stride;
    const int64_t width = head.p.c;
    if constexpr (kSame) {
      if (!copies()) return {from, range.size, stride, width};
      head.rotate(angles, from, range, stride, copy);
    } else {
      for (int64_t i = 0; i < range.size; ++i)
        rows::widen(from + i * stride, copy + i * width, width);
      head.rotate_in_place(angles, copy, range);
    }
    return {copy, range.size, width, width};
  }
  HeadRows<B> load_all(const Head& head, typename B::Number* copy) const {
    return load(head, {0, rows}, copy);
  }
  typename B::Number* lay_out_copy(Arena& arena, int64_t width) const {
    return copies() ? arena.numbers<typename B::Number>(rows * width) : nullptr;
  }
};

/// A head's rows as second matrices: all of them turned round, so that they are the columns, and
/// each block of them as it is.
template <typename B>
class SecondMatrices {
 public:
  using Number = typename B::Number;
  enum Which { kColumns = 1, kBlocks = 2 };
  SecondMatrices(int64_t rows, int64_t width, int which)
      : rows_(rows), width_(width), which_(which) {}

  void lay_out(Arena& arena) {
    if (which_ & kColumns) columns_ = arena.numbers<Number>(B::packed_size(width_, rows_));
    if (which_ & kBlocks) blocks_ = arena.numbers<Number>(blocks_of(rows_) * stride());
  }
  void pack(const HeadRows<B>& rows) const {
    if (which_ & kColumns) B::pack(rows.columns(), columns_);
    if (!(which_ & kBlocks)) return;
    for (int64_t i = 0; i < blocks_of(rows_); ++i) B::pack(rows.block(i), blocks_ + i * stride());
  }
  const Number* columns() const { return columns_; }
  const Number* block(int64_t index) const { return blocks_ + index * stride(); }

 private:
  int64_t stride() const { return (B::packed_size(kBlock, width_) + 31) / 32 * 32; }

  int64_t rows_, width_;
  int which_;
  Number *columns_ = nullptr, *blocks_ = nullptr;
};

template <typename S>
void spread(const float* from, int64_t rows, int64_t width, S* to, int64_t stride) {
  for (int64_t row = 0; row < rows; ++row) {
    if constexpr (std::is_same_v<S, float>) {
      std::memcpy(to + row * stride, from + row * width, width * sizeof(float));
    } else {
      rows::narrow(from + row * width, to + row * stride, width);
    }
  }
}

template <typename B, typename S>
void forward_head(const Head& head, const S* q, const S* k, const S* v, S* out, float* log_sums) {
  using Number = typename B::Number;
  const AttentionProblem& p = head.p;
  const Visibility visible(head);
  const GivenRows<B, S> given_k{k + head.key_start(), p.s, p.k * p.c, p.rotary_s};
  const GivenRows<B, S> given_v{v + head.key_start(), p.s, p.k * p.c};
  SecondMatrices<B> keys(p.s, p.c, SecondMatrices<B>::kColumns);
  SecondMatrices<B> values(p.s, p.c, SecondMatrices<B>::kBlocks);
  float *scores = nullptr, *mixed = nullptr;
  Number *weights = nullptr, *rows_k = nullptr, *rows_v = nullptr, *rows_t = nullptr,
         *copy = nullptr;
  Arena::lay_out([&](Arena& arena) {
    rows_k = given_k.lay_out_copy(arena, p.c);
    rows_v = given_v.lay_out_copy(arena, p.c);
    keys.lay_out(arena);
    values.lay_out(arena);
    scores = arena.floats(kBlock * kBlock);
    mixed = arena.floats(kBlock * p.c);
    if (B::kCopiesLines) weights = arena.numbers<Number>(kBlock * kBlock);
    rows_t = arena.numbers<Number>(kBlock * p.c);
    copy = arena.numbers<Number>(kBlock * (p.c + 1));
  });
  keys.pack(given_k.load_all(head, rows_k));
  values.pack(given_v.load_all(head, rows_v));
  for (int64_t g = 0; g < head.groups(); ++g) {
    const GivenRows<B, S> queries{q + head.query_start(g), p.t, p.h * p.c, p.rotary_t};
    for (int64_t i = 0; i < blocks_of(p.t); ++i) {
      const Range t = block_of(p.t, i);
      const auto first = B::rows(queries.load(head, t, rows_t).all(), copy);
      RunningSoftmax softmax(head, t, mixed);
      for (int64_t j = 0; j < blocks_of(p.s); ++j) {
        if (!visible.any(i, j)) continue;
        const Range s = block_of(p.s, j);
        B::multiply({.m = t.size, .n = s.size, .k = p.c}, first, keys.columns(), scores, kBlock, j);
        softmax.weigh(s, visible.all(i, j), scores);
        B::multiply({.m = t.size, .n = p.c, .k = s.size, .accumulate = true},
                    B::lines(scores, t.size, s.size, weights), values.block(j), mixed, p.c);
      }
      softmax.end(log_sums + head.log_sum_start(g) + t.first);
      spread(mixed, t.size, p.c, out + head.query_start(g) + t.first * p.h * p.c, p.h * p.c);
    }
  }
}

/// What the reverse pass keeps of one query head.
template <typename B, typename S>
struct QueryHead {
  GivenRows<B, S> given_q, given_cotangent;
  SecondMatrices<B> q, cotangent;
  typename B::Number *rows_q = nullptr, *rows_cotangent = nullptr;
  float *inner = nullptr, *q_grad = nullptr;

  static constexpr int kBoth = SecondMatrices<B>::kColumns | SecondMatrices<B>::kBlocks;
  QueryHead(const AttentionProblem& p, const S* q_rows, const S* cotangent_rows)
      : given_q{q_rows, p.t, p.h * p.c, p.rotary_t},
        given_cotangent{cotangent_rows, p.t, p.h * p.c},
        q(p.t, p.c, kBoth),
        cotangent(p.t, p.c, kBoth) {}

  void lay_out(Arena& arena, const AttentionProblem& p) {
    rows_q = given_q.lay_out_copy(arena, p.c);
    rows_cotangent = given_cotangent.lay_out_copy(arena, p.c);
    q.lay_out(arena);
    cotangent.lay_out(arena);
    inner = arena.floats(p.t);
    q_grad = arena.floats(p.t * p.c);
  }
  // `out`: what the forward pass gave for it.
  void begin(const Head& head, const S* out) {
    const AttentionProblem& p = head.p;
    q.pack(given_q.load_all(head, rows_q));
    cotangent.pack(given_cotangent.load_all(head, rows_cotangent));
    const int64_t stride = p.h * p.c;
    for (int64_t row = 0; row < p.t; ++row)
      inner[row] = rows::dot(given_cotangent.data + row * stride, out + row * stride, p.c);
    std::fill_n(q_grad, p.t * p.c, 0.0f);
  }
};

// Scores stand with a line for each key, so that those of a query are a column: then weights and
// the gradients of scores are the first matrix of the products for keys and values as they lie, and
// only the queries' product turns one of them round.
template <typename B, typename S>
void backward_head(const Head& head, const AttentionReverse& x) {
  using Number = typename B::Number;
  const AttentionProblem& p = head.p;
  const Visibility visible(head);
  const auto typed = [](const void* data) { return static_cast<const S*>(data); };
  const GivenRows<B, S> given_k{typed(x.k) + head.key_start(), p.s, p.k * p.c, p.rotary_s};
  const GivenRows<B, S> given_v{typed(x.v) + head.key_start(), p.s, p.k * p.c};
  SecondMatrices<B> packed_keys(p.s, p.c, SecondMatrices<B>::kBlocks);
  std::vector<QueryHead<B, S>> queries;
  for (int64_t g = 0; g < head.groups(); ++g)
    queries.emplace_back(p, typed(x.q) + head.query_start(g),
                         typed(x.cotangent) + head.query_start(g));
  float *scores = nullptr, *of_weights = nullptr, *dk = nullptr, *dv = nullptr;
  Number *rows_k = nullptr, *rows_v = nullptr, *copy_k = nullptr, *copy_v = nullptr;
  Number *weights = nullptr, *of_scores = nullptr, *turned = nullptr;
  Arena::lay_out([&](Arena& arena) {
    rows_k = given_k.lay_out_copy(arena, p.c);
    rows_v = given_v.lay_out_copy(arena, p.c);
    packed_keys.lay_out(arena);
    scores = arena.floats(kBlock * kBlock);
    of_weights = arena.floats(kBlock * kBlock);
    dk = arena.floats(kBlock * p.c);
    dv = arena.floats(kBlock * p.c);
    copy_k = arena.numbers<Number>(kBlock * (p.c + 1));
    copy_v = arena.numbers<Number>(kBlock * (p.c + 1));
    if (B::kCopiesLines) {
      weights = arena.numbers<Number>(kBlock * kBlock);
      of_scores = arena.numbers<Number>(kBlock * kBlock);
      turned = arena.numbers<Number>(B::turned_size());
    }
    for (auto& query : queries) query.lay_out(arena, p);
  });
  const HeadRows<B> keys = given_k.load_all(head, rows_k), values = given_v.load_all(head, rows_v);
  packed_keys.pack(keys);
  for (int64_t g = 0; g < head.groups(); ++g)
    queries[g].begin(head, typed(x.out) + head.query_start(g));
  for (int64_t j = 0; j < blocks_of(p.s); ++j) {
    const Range s = block_of(p.s, j);
    const auto first_k = B::rows(keys.block(j), copy_k), first_v = B::rows(values.block(j), copy_v);
    std::fill_n(dk, s.size * p.c, 0.0f);
    std::fill_n(dv, s.size * p.c, 0.0f);
    for (int64_t g = 0; g < head.groups(); ++g) {
      const auto& query = queries[g];
      for (int64_t i = 0; i < blocks_of(p.t); ++i) {
        if (!visible.any(i, j)) continue;
        const Range t = block_of(p.t, i);
        const Block across{.m = s.size, .n = t.size, .k = p.c};
        B::multiply(across, first_k, query.q.columns(), scores, kBlock, i);
        B::multiply(across, first_v, query.cotangent.columns(), of_weights, kBlock, i);
        // They become weights and the gradients of scores.
        rows::attention_gradient(head.block(t, s, visible.all(i, j)),
                                 x.log_sums + head.log_sum_start(g) + t.first,
                                 query.inner + t.first, scores, of_weights, kBlock);
        const auto lines = B::lines(scores, s.size, t.size, weights);
        const auto of_lines = B::lines(of_weights, s.size, t.size, of_scores);
        const Block down{.m = s.size, .n = p.c, .k = t.size, .accumulate = true};
        B::multiply(down, lines, query.cotangent.block(i), dv, p.c);
        B::multiply(down, of_lines, query.q.block(i), dk, p.c);
        B::multiply({.m = t.size, .n = p.c, .k = s.size, .accumulate = true},
                    B::turned(of_lines, s.size, t.size, turned), packed_keys.block(j),
                    query.q_grad + t.first * p.c, p.c);
      }
    }
    const int64_t start = head.key_start() + s.first * p.k * p.c;
    head.rotate_back_in_place(p.rotary_s, dk, s);
    spread(dk, s.size, p.c, static_cast<S*>(x.k_grad) + start, p.k * p.c);
    spread(dv, s.size, p.c, static_cast<S*>(x.v_grad) + start, p.k * p.c);
  }
  for (int64_t g = 0; g < head.groups(); ++g) {
    head.rotate_back_in_place(p.rotary_t, queries[g].q_grad, {0, p.t});
    spread(queries[g].q_grad, p.t, p.c, static_cast<S*>(x.q_grad) + head.query_start(g), p.h * p.c);
  }
}

// body(kind of products, type of what is given), both as null pointers, for this processor.
template <typename Body>
void with_kinds(const AttentionProblem& problem, const Body& body) {
  if (problem.dtype != DType::kBF16) {
    body(static_cast<F32Blocks*>(nullptr), static_cast<float*>(nullptr));
  } else if (has_bf16_product()) {
    body(static_cast<Bf16Blocks*>(nullptr), static_cast<uint16_t*>(nullptr));
  } else {
    body(static_cast<F32Blocks*>(nullptr), static_cast<uint16_t*>(nullptr));
  }
}

}  // namespace

void attention_forward(const AttentionProblem& problem, int threads, const void* q, const void* k,
                       const void* v, void* out, float* log_sums) {
  with_kinds(problem, [&]<typename B, typename S>(B*, S*) {
    run_parallel(threads, problem.b * problem.k, [&](int64_t task) {
      forward_head<B, S>(Head(problem, task), static_cast<const S*>(q), static_cast<const S*>(k),
                         static_cast<const S*>(v), static_cast<S*>(out), log_sums);
    });
  });
}

void attention_backward(const AttentionProblem& problem, int threads,
                        const AttentionReverse& values) {
  with_kinds(problem, [&]<typename B, typename S>(B*, S*) {
    run_parallel(threads, problem.b * problem.k,
                 [&](int64_t task) { backward_head<B, S>(Head(problem, task), values); });
  });
}

}  // namespace tessera::kernels
