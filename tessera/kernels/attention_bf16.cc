// Attention whose products are of bf16, sums and softmax in f32.

#include "tessera/kernels/attention_internal.h"
#include "tessera/kernels/bf16_blocks.h"
#include "tessera/kernels/rows.h"

namespace tessera::kernels {
namespace {

constexpr int64_t kBlock = bf16::kPanel;  // of queries and of keys

const uint16_t* halves(const void* data) { return static_cast<const uint16_t*>(data); }
uint16_t* halves(void* data) { return static_cast<uint16_t*>(data); }

/// The rows [.., C] of a head.
struct HeadRows {
  const uint16_t* data;
  int64_t rows, row, width;

  bf16::Matrix all() const { return {data, rows, width, row, 1}; }
  bf16::Matrix block(int64_t index) const {
    const Range range = block_of<kBlock>(rows, index);
    return {data + range.first * row, range.size, width, row, 1};
  }
  bf16::Matrix columns() const { return {data, width, rows, 1, row}; }
};

/// A head's rows as second matrices: all of them turned round, so that they are the columns, and
/// each block of them as it is.
class SecondMatrices {
 public:
  enum Which { kColumns = 1, kBlocks = 2 };
  SecondMatrices(int64_t rows, int64_t width, int which)
      : rows_(rows), width_(width), which_(which) {}

  void lay_out(Arena& arena) {
    if (which_ & kColumns) columns_ = arena.halves(bf16::packed_size(width_, rows_));
    if (which_ & kBlocks) blocks_ = arena.halves(blocks_of<kBlock>(rows_) * stride());
  }
  void pack(const HeadRows& rows) const {
    if (which_ & kColumns) bf16::pack(rows.columns(), columns_);
    if (!(which_ & kBlocks)) return;
    for (int64_t i = 0; i < blocks_of<kBlock>(rows_); ++i)
      bf16::pack(rows.block(i), blocks_ + i * stride());
  }
  const uint16_t* columns() const { return columns_; }
  const uint16_t* block(int64_t index) const { return blocks_ + index * stride(); }

 private:
  int64_t stride() const { return (bf16::packed_size(kBlock, width_) + 31) / 32 * 32; }

  int64_t rows_, width_;
  int which_;
  uint16_t *columns_ = nullptr, *blocks_ = nullptr;
};

/// A head's rows as they are multiplied: as they lie, or turned in memory of an arena.
class TurnedRows {
 public:
  TurnedRows(const Head& head, const RotaryAngles& angles, const HeadRows& rows)
      : head_(head), angles_(angles), from_(rows) {}

  void lay_out(Arena& arena) {
    if (angles_.cos != nullptr) copy_ = arena.halves(from_.rows * from_.width);
  }
  HeadRows turn() const {
    if (angles_.cos == nullptr) return from_;
    head_.rotate(angles_, from_.data, {0, from_.rows}, from_.row, copy_);
    return {copy_, from_.rows, from_.width, from_.width};
  }

 private:
  const Head& head_;
  const RotaryAngles& angles_;
  HeadRows from_;
  uint16_t* copy_ = nullptr;
};

// As they lie, or, of an odd width, copied.
bf16::Pairs pairs(const bf16::Matrix& rows, uint16_t* copy) {
  return bf16::has_pairs(rows) ? bf16::pairs_of(rows) : bf16::copy_pairs(rows, copy);
}

// Lines of weights in bf16. Pairs are multiplied whole, so an odd line ends with a zero.
void narrow_lines(const float* from, int64_t lines, int64_t size, uint16_t* to) {
  for (int64_t i = 0; i < lines; ++i) {
    bf16::narrow(from + i * kBlock, to + i * kBlock, size);
    if (size % 2 != 0) to[i * kBlock + size] = 0;
  }
}

// A block of queries, turned into `copy` where there are angles.
HeadRows turned_block(const Head& head, const HeadRows& block, Range t, uint16_t* copy) {
  const RotaryAngles& angles = head.p.rotary_t;
  if (angles.cos == nullptr) return block;
  head.rotate(angles, block.data, t, block.row, copy);
  return {copy, block.rows, block.width, block.width};
}

bf16::Pairs lines(const uint16_t* weights) { return {weights, kBlock, 2}; }

// f32 rows, dense, to where bf16 ones go.
void spread(const float* from, int64_t rows, int64_t width, uint16_t* to, int64_t stride) {
  for (int64_t row = 0; row < rows; ++row)
    bf16::narrow(from + row * width, to + row * stride, width);
}

}  // namespace

void forward_head_bf16(const Head& head, const void* q, const void* k, const void* v, void* out,
                       float* log_sums) {
  const AttentionProblem& p = head.p;
  const Visibility visible(head, kBlock);
  const HeadRows rows_v{halves(v) + head.key_start(), p.s, p.k * p.c, p.c};
  TurnedRows rows_k(head, p.rotary_s, {halves(k) + head.key_start(), p.s, p.k * p.c, p.c});
  SecondMatrices keys(p.s, p.c, SecondMatrices::kColumns);
  SecondMatrices values(p.s, p.c, SecondMatrices::kBlocks);
  float *scores = nullptr, *mixed = nullptr;
  uint16_t *weights = nullptr, *copy = nullptr;
  Arena::lay_out([&](Arena& arena) {
    rows_k.lay_out(arena);
    keys.lay_out(arena);
    values.lay_out(arena);
    scores = arena.floats(kBlock * kBlock);
    mixed = arena.floats(kBlock * p.c);
    weights = arena.halves(kBlock * kBlock);
    copy = arena.halves(kBlock * (p.c + 1));
  });
  keys.pack(rows_k.turn());
  values.pack(rows_v);
  for (int64_t g = 0; g < head.groups(); ++g) {
    const HeadRows queries{halves(q) + head.query_start(g), p.t, p.h * p.c, p.c};
    for (int64_t i = 0; i < blocks_of<kBlock>(p.t); ++i) {
      const Range t = block_of<kBlock>(p.t, i);
      const HeadRows block{queries.data + t.first * queries.row, t.size, queries.row, p.c};
      const bf16::Pairs rows_t = pairs(turned_block(head, block, t, copy).all(), copy);
      RunningSoftmax<kBlock> softmax(head, t, mixed);
      for (int64_t j = 0; j < blocks_of<kBlock>(p.s); ++j) {
        if (!visible.any(i, j)) continue;
        const Range s = block_of<kBlock>(p.s, j);
        bf16::multiply({.m = t.size, .n = s.size, .k = p.c}, rows_t, keys.columns(),
                       {scores, kBlock, false}, j);
        softmax.weigh(s, visible.all(i, j), scores, kBlock);
        narrow_lines(scores, t.size, s.size, weights);
        bf16::multiply({.m = t.size, .n = p.c, .k = s.size, .accumulate = true}, lines(weights),
                       values.block(j), {mixed, p.c, false});
      }
      softmax.end(log_sums + head.log_sum_start(g) + t.first);
      spread(mixed, t.size, p.c, halves(out) + head.query_start(g) + t.first * p.h * p.c,
             p.h * p.c);
    }
  }
}

namespace {

/// What the reverse pass keeps of one query head.
struct QueryHead {
  TurnedRows rows;
  SecondMatrices q, cotangent;
  float *inner = nullptr, *q_grad = nullptr;

  static constexpr int kBoth = SecondMatrices::kColumns | SecondMatrices::kBlocks;
  QueryHead(const Head& head, const HeadRows& from)
      : rows(head, head.p.rotary_t, from),
        q(from.rows, from.width, kBoth),
        cotangent(from.rows, from.width, kBoth) {}
};

}  // namespace

// By lines of keys, as in attention_core.cc.
void backward_head_bf16(const Head& head, const AttentionReverse& x) {
  const AttentionProblem& p = head.p;
  const Visibility visible(head, kBlock);
  TurnedRows turned_keys(head, p.rotary_s, {halves(x.k) + head.key_start(), p.s, p.k * p.c, p.c});
  const HeadRows values{halves(x.v) + head.key_start(), p.s, p.k * p.c, p.c};
  SecondMatrices packed_keys(p.s, p.c, SecondMatrices::kBlocks);
  std::vector<QueryHead> queries;
  for (int64_t g = 0; g < head.groups(); ++g)
    queries.emplace_back(head, HeadRows{halves(x.q) + head.query_start(g), p.t, p.h * p.c, p.c});
  float *scores = nullptr, *products = nullptr, *dk = nullptr, *dv = nullptr;
  uint16_t *weights = nullptr, *of_scores = nullptr, *turned = nullptr;
  uint16_t *copy_k = nullptr, *copy_v = nullptr;
  const int64_t turned_size = bf16::pairs_size({nullptr, kBlock, kBlock, 1, kBlock});
  Arena::lay_out([&](Arena& arena) {
    turned_keys.lay_out(arena);
    packed_keys.lay_out(arena);
    scores = arena.floats(kBlock * kBlock);
    products = arena.floats(kBlock * kBlock);
    dk = arena.floats(kBlock * p.c);
    dv = arena.floats(kBlock * p.c);
    weights = arena.halves(kBlock * kBlock);
    of_scores = arena.halves(kBlock * kBlock);
    turned = arena.halves(turned_size);
    copy_k = arena.halves(kBlock * (p.c + 1));
    copy_v = arena.halves(kBlock * (p.c + 1));
    for (QueryHead& query : queries) {
      query.rows.lay_out(arena);
      query.q.lay_out(arena);
      query.cotangent.lay_out(arena);
      query.inner = arena.floats(p.t);
      query.q_grad = arena.floats(p.t * p.c);
    }
  });
  const HeadRows keys = turned_keys.turn();
  packed_keys.pack(keys);
  for (int64_t g = 0; g < head.groups(); ++g) {
    const QueryHead& query = queries[g];
    query.q.pack(query.rows.turn());
    query.cotangent.pack({halves(x.cotangent) + head.query_start(g), p.t, p.h * p.c, p.c});
    for (int64_t row = 0; row < p.t; ++row) {
      const int64_t place = head.query_start(g) + row * p.h * p.c;
      query.inner[row] = rows::dot(halves(x.cotangent) + place, halves(x.out) + place, p.c);
    }
    std::fill_n(query.q_grad, p.t * p.c, 0.0f);
  }
  for (int64_t j = 0; j < blocks_of<kBlock>(p.s); ++j) {
    const Range s = block_of<kBlock>(p.s, j);
    const bf16::Pairs rows_k = pairs(keys.block(j), copy_k),
                      rows_v = pairs(values.block(j), copy_v);
    std::fill_n(dk, s.size * p.c, 0.0f);
    std::fill_n(dv, s.size * p.c, 0.0f);
    for (int64_t g = 0; g < head.groups(); ++g) {
      const QueryHead& query = queries[g];
      for (int64_t i = 0; i < blocks_of<kBlock>(p.t); ++i) {
        if (!visible.any(i, j)) continue;
        const Range t = block_of<kBlock>(p.t, i);
        const bf16::Block across{.m = s.size, .n = t.size, .k = p.c};
        bf16::multiply(across, rows_k, query.q.columns(), {scores, kBlock, false}, i);
        bf16::multiply(across, rows_v, query.cotangent.columns(), {products, kBlock, false}, i);
        rows::attention_gradient(head.block(t, s, visible.all(i, j)),
                                 x.log_sums + head.log_sum_start(g) + t.first,
                                 query.inner + t.first, scores, products, kBlock);
        narrow_lines(scores, s.size, t.size, weights);
        narrow_lines(products, s.size, t.size, of_scores);
        const bf16::Block down{.m = s.size, .n = p.c, .k = t.size, .accumulate = true};
        bf16::multiply(down, lines(weights), query.cotangent.block(i), {dv, p.c, false});
        bf16::multiply(down, lines(of_scores), query.q.block(i), {dk, p.c, false});
        const bf16::Pairs by_query =
            bf16::copy_pairs({of_scores, t.size, s.size, 1, kBlock}, turned);
        bf16::multiply({.m = t.size, .n = p.c, .k = s.size, .accumulate = true}, by_query,
                       packed_keys.block(j), {query.q_grad + t.first * p.c, p.c, false});
      }
    }
    const int64_t start = head.key_start() + s.first * p.k * p.c;
    head.rotate_back_in_place(p.rotary_s, dk, s);
    spread(dk, s.size, p.c, halves(x.k_grad) + start, p.k * p.c);
    spread(dv, s.size, p.c, halves(x.v_grad) + start, p.k * p.c);
  }
  for (int64_t g = 0; g < head.groups(); ++g) {
    head.rotate_back_in_place(p.rotary_t, queries[g].q_grad, {0, p.t});
    spread(queries[g].q_grad, p.t, p.c, halves(x.q_grad) + head.query_start(g), p.h * p.c);
  }
}

}  // namespace tessera::kernels
