#include "tessera/kernels/attention_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tessera/kernels/attention_internal.h"
#include "tessera/kernels/bf16_product.h"
#include "tessera/kernels/rows.h"
#include "tessera/kernels/workers.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kBlock = 128;  // of queries and of keys

/// A product of dense f32 matrices.
const Multiplier& dense(int64_t m, int64_t n, int64_t k, bool a_transposed, bool b_transposed,
                        bool accumulate) {
  return Multiplier::of({.m = m,
                         .n = n,
                         .k = k,
                         .a_m = a_transposed ? 1 : k,
                         .a_k = a_transposed ? m : 1,
                         .b_k = b_transposed ? 1 : n,
                         .b_n = b_transposed ? k : 1,
                         .c_m = n,
                         .accumulate = accumulate});
}

/// A block of an operand, and the code that packed it.
struct Packed {
  const float* data;
  const Multiplier* code;
};

void run(const Multiplier& code, const float* a, Packed packed, float* c) {
  if (!code.packs_like(*packed.code)) throw std::logic_error("a block is packed in another order");
  for (int64_t i = 0; i < code.blocks(); ++i) code.rows(i, a, packed.data, c);
}

int64_t packed_floats(const Multiplier& code) {
  return static_cast<int64_t>(code.packed_bytes() / sizeof(float));
}

/// One operand's blocks, each packed as the second matrix of products. `transposed`: the block's
/// rows are the product's columns.
class PackedBlocks {
 public:
  // With the rows of the first matrix, which do not matter for how the second is packed.
  PackedBlocks(int64_t rows, int64_t width, bool transposed)
      : rows_(rows), width_(width), transposed_(transposed) {
    stride_ = (packed_floats(code(std::min(rows, kBlock))) + 15) / 16 * 16;
  }
  int64_t floats() const { return blocks_of<kBlock>(rows_) * stride_; }
  void set(float* memory) { memory_ = memory; }

  void pack(const float* dense_rows) const {
    for (int64_t i = 0; i < blocks_of<kBlock>(rows_); ++i) {
      const Range block = block_of<kBlock>(rows_, i);
      code(block.size).pack(dense_rows + block.first * width_, memory_ + i * stride_);
    }
  }
  Packed block(int64_t index) const {
    return {memory_ + index * stride_, &code(block_of<kBlock>(rows_, index).size)};
  }

 private:
  const Multiplier& code(int64_t size) const {
    return transposed_ ? dense(kBlock, size, width_, false, true, false)
                       : dense(kBlock, width_, size, false, false, false);
  }

  int64_t rows_, width_, stride_;
  bool transposed_;
  float* memory_ = nullptr;
};

// Rows of one head out of [rows, heads, C], widened; and back.
void gather(const void* from, DType dtype, int64_t rows, int64_t stride, int64_t c, float* to) {
  for (int64_t row = 0; row < rows; ++row) {
    if (dtype == DType::kBF16) {
      rows::widen(static_cast<const uint16_t*>(from) + row * stride, to + row * c, c);
    } else {
      std::memcpy(to + row * c, static_cast<const float*>(from) + row * stride, c * sizeof(float));
    }
  }
}
void spread(const float* from, DType dtype, int64_t rows, int64_t stride, int64_t c, void* to) {
  for (int64_t row = 0; row < rows; ++row) {
    if (dtype == DType::kBF16) {
      rows::narrow(from + row * c, static_cast<uint16_t*>(to) + row * stride, c);
    } else {
      std::memcpy(static_cast<float*>(to) + row * stride, from + row * c, c * sizeof(float));
    }
  }
}

void forward_head(const Head& head, const void* q, const void* k, const void* v, void* out,
                  float* log_sums) {
  const AttentionProblem& p = head.p;
  const Visibility visible(head, kBlock);
  PackedBlocks keys(p.s, p.c, /*transposed=*/true), values(p.s, p.c, /*transposed=*/false);
  float *rows_s = nullptr, *rows_t = nullptr, *scores = nullptr, *mixed = nullptr;
  float *packed_k = nullptr, *packed_v = nullptr;
  Arena::lay_out([&](Arena& arena) {
    rows_s = arena.floats(p.s * p.c);
    rows_t = arena.floats(kBlock * p.c);
    scores = arena.floats(kBlock * kBlock);
    mixed = arena.floats(kBlock * p.c);
    packed_k = arena.floats(keys.floats());
    packed_v = arena.floats(values.floats());
  });
  keys.set(packed_k);
  values.set(packed_v);
  gather(at(k, p.dtype, head.key_start()), p.dtype, p.s, p.k * p.c, p.c, rows_s);
  head.rotate_in_place(p.rotary_s, rows_s, {0, p.s});
  keys.pack(rows_s);
  gather(at(v, p.dtype, head.key_start()), p.dtype, p.s, p.k * p.c, p.c, rows_s);
  values.pack(rows_s);
  for (int64_t g = 0; g < head.groups(); ++g) {
    for (int64_t i = 0; i < blocks_of<kBlock>(p.t); ++i) {
      const Range t = block_of<kBlock>(p.t, i);
      const int64_t start = head.query_start(g) + t.first * p.h * p.c;
      gather(at(q, p.dtype, start), p.dtype, t.size, p.h * p.c, p.c, rows_t);
      head.rotate_in_place(p.rotary_t, rows_t, t);
      RunningSoftmax<kBlock> softmax(head, t, mixed);
      for (int64_t j = 0; j < blocks_of<kBlock>(p.s); ++j) {
        const Range s = block_of<kBlock>(p.s, j);
        if (!visible.any(i, j)) continue;
        run(dense(t.size, s.size, p.c, false, true, false), rows_t, keys.block(j), scores);
        softmax.weigh(s, visible.all(i, j), scores, s.size);
        run(dense(t.size, p.c, s.size, false, false, true), scores, values.block(j), mixed);
      }
      softmax.end(log_sums + head.log_sum_start(g) + t.first);
      spread(mixed, p.dtype, t.size, p.h * p.c, p.c, at(out, p.dtype, start));
    }
  }
}

/// What the reverse pass keeps of one query head.
struct QueryHead {
  PackedBlocks q, q_columns, cotangent, cotangent_columns;
  float *inner = nullptr, *q_grad = nullptr;

  QueryHead(int64_t t, int64_t c)
      : q(t, c, false),
        q_columns(t, c, true),
        cotangent(t, c, false),
        cotangent_columns(t, c, true) {}
};

// Scores stand with a line for each key, so that those of a query are a column: then weights and
// the gradients of scores are the first matrix of the products for keys and values as they lie, and
// only the queries' product turns one of them round.
void backward_head(const Head& head, const AttentionReverse& x) {
  const AttentionProblem& p = head.p;
  const Visibility visible(head, kBlock);
  std::vector<QueryHead> queries(head.groups(), QueryHead(p.t, p.c));
  PackedBlocks keys(p.s, p.c, false);
  float *rows_t = nullptr, *rows_out = nullptr, *rows_k = nullptr, *rows_v = nullptr;
  float *packed_k = nullptr, *scores = nullptr, *products = nullptr;
  float *dk = nullptr, *dv = nullptr;
  Arena::lay_out([&](Arena& arena) {
    rows_t = arena.floats(p.t * p.c);
    rows_out = arena.floats(p.t * p.c);
    rows_k = arena.floats(p.s * p.c);
    rows_v = arena.floats(p.s * p.c);
    packed_k = arena.floats(keys.floats());
    scores = arena.floats(kBlock * kBlock);
    products = arena.floats(kBlock * kBlock);
    dk = arena.floats(kBlock * p.c);
    dv = arena.floats(kBlock * p.c);
    for (QueryHead& query : queries) {
      for (PackedBlocks* blocks :
           {&query.q, &query.q_columns, &query.cotangent, &query.cotangent_columns})
        blocks->set(arena.floats(blocks->floats()));
      query.inner = arena.floats(p.t);
      query.q_grad = arena.floats(p.t * p.c);
    }
  });
  keys.set(packed_k);
  gather(at(x.k, p.dtype, head.key_start()), p.dtype, p.s, p.k * p.c, p.c, rows_k);
  head.rotate_in_place(p.rotary_s, rows_k, {0, p.s});
  gather(at(x.v, p.dtype, head.key_start()), p.dtype, p.s, p.k * p.c, p.c, rows_v);
  keys.pack(rows_k);
  for (int64_t g = 0; g < head.groups(); ++g) {
    QueryHead& query = queries[g];
    const int64_t start = head.query_start(g), stride = p.h * p.c;
    gather(at(x.q, p.dtype, start), p.dtype, p.t, stride, p.c, rows_t);
    head.rotate_in_place(p.rotary_t, rows_t, {0, p.t});
    query.q.pack(rows_t);
    query.q_columns.pack(rows_t);
    gather(at(x.cotangent, p.dtype, start), p.dtype, p.t, stride, p.c, rows_t);
    query.cotangent.pack(rows_t);
    query.cotangent_columns.pack(rows_t);
    gather(at(x.out, p.dtype, start), p.dtype, p.t, stride, p.c, rows_out);
    for (int64_t row = 0; row < p.t; ++row)
      query.inner[row] = rows::dot(rows_t + row * p.c, rows_out + row * p.c, p.c);
    std::fill_n(query.q_grad, p.t * p.c, 0.0f);
  }
  for (int64_t j = 0; j < blocks_of<kBlock>(p.s); ++j) {
    const Range s = block_of<kBlock>(p.s, j);
    std::fill_n(dk, s.size * p.c, 0.0f);
    std::fill_n(dv, s.size * p.c, 0.0f);
    for (int64_t g = 0; g < head.groups(); ++g) {
      const QueryHead& query = queries[g];
      for (int64_t i = 0; i < blocks_of<kBlock>(p.t); ++i) {
        const Range t = block_of<kBlock>(p.t, i);
        if (!visible.any(i, j)) continue;
        const Multiplier& across = dense(s.size, t.size, p.c, false, true, false);
        run(across, rows_k + s.first * p.c, query.q_columns.block(i), scores);
        run(across, rows_v + s.first * p.c, query.cotangent_columns.block(i), products);
        // They become weights and the gradients of scores.
        rows::attention_gradient(head.block(t, s, visible.all(i, j)),
                                 x.log_sums + head.log_sum_start(g) + t.first,
                                 query.inner + t.first, scores, products, t.size);
        const Multiplier& down = dense(s.size, p.c, t.size, false, false, true);
        run(down, scores, query.cotangent.block(i), dv);
        run(down, products, query.q.block(i), dk);
        run(dense(t.size, p.c, s.size, true, false, true), products, keys.block(j),
            query.q_grad + t.first * p.c);
      }
    }
    const int64_t start = head.key_start() + s.first * p.k * p.c;
    head.rotate_back_in_place(p.rotary_s, dk, s);
    spread(dk, p.dtype, s.size, p.k * p.c, p.c, at(x.k_grad, p.dtype, start));
    spread(dv, p.dtype, s.size, p.k * p.c, p.c, at(x.v_grad, p.dtype, start));
  }
  for (int64_t g = 0; g < head.groups(); ++g) {
    head.rotate_back_in_place(p.rotary_t, queries[g].q_grad, {0, p.t});
    spread(queries[g].q_grad, p.dtype, p.t, p.h * p.c, p.c,
           at(x.q_grad, p.dtype, head.query_start(g)));
  }
}

}  // namespace

void attention_forward(const AttentionProblem& problem, int threads, const void* q, const void* k,
                       const void* v, void* out, float* log_sums) {
  const bool in_bf16 = problem.dtype == DType::kBF16 && has_bf16_product();
  const auto run_head = in_bf16 ? forward_head_bf16 : forward_head;
  run_parallel(threads, problem.b * problem.k,
               [&](int64_t task) { run_head(Head(problem, task), q, k, v, out, log_sums); });
}

void attention_backward(const AttentionProblem& problem, int threads,
                        const AttentionReverse& values) {
  const bool in_bf16 = problem.dtype == DType::kBF16 && has_bf16_product();
  const auto run_head = in_bf16 ? backward_head_bf16 : backward_head;
  run_parallel(threads, problem.b * problem.k,
               [&](int64_t task) { run_head(Head(problem, task), values); });
}

}  // namespace tessera::kernels
