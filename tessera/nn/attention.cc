#include "tessera/nn/attention.h"

#include <cmath>

#include "tessera/nn/attention_internal.h"
#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {

Value attention_internal::same_segment(Value queries_BT, Value keys_BS) {
  const int64_t batch = queries_BT.dim(0);
  return equal(reshape(queries_BT, {batch, 1, 1, queries_BT.dim(1), 1}),
               reshape(keys_BS, {batch, 1, 1, 1, keys_BS.dim(1)}));
}

Value attention_internal::lower_triangle(Graph& graph, int64_t queries, int64_t keys) {
  const Shape square{DType::kS32, {queries, keys}};
  return reshape(greater_equal(iota(graph, square, 0), iota(graph, square, 1)),
                 {1, 1, 1, queries, keys});
}

Value attention_internal::split_heads(Value q_BTHC, int64_t kv_heads) {
  const int64_t heads = q_BTHC.dim(2);
  if (heads % kv_heads != 0)
    fail("[causal_attention] ", heads, " heads are no multiple of ", kv_heads, " key heads");
  return reshape(q_BTHC, {q_BTHC.dim(0), q_BTHC.dim(1), kv_heads, heads / kv_heads, q_BTHC.dim(3)});
}

Value attention_internal::scaled_scores(Value q_BTKGC, Value k_BSKC) {
  const Value scores = einsum("btkgc,bskc->bkgts", {q_BTKGC, k_BSKC});
  return convert(scores, wide_dtype(scores.dtype())) *
         (1 / std::sqrt(static_cast<double>(q_BTKGC.dim(4))));
}

namespace {

using namespace attention_internal;

// bool[B or 1, 1, 1, T, S]: who sees whom.
Value visibility(Graph& graph, int64_t queries, int64_t keys, const SequenceContext& sequence,
                 int64_t window) {
  const auto order = [&](int64_t size) {
    return sequence.order_T.defined() ? sequence.order_T
                                      : iota(graph, Shape{DType::kS32, {size}}, 0);
  };
  Value visible;
  if (sequence.order_T.defined() || window > 0) {
    const Value back = expand_dims(order(queries), 1) - expand_dims(order(keys), 0);
    Value near = greater_equal(back, 0.0);
    if (window > 0) near = logical_and(near, less(back, static_cast<double>(window)));
    visible = reshape(near, {1, 1, 1, queries, keys});
  } else {
    visible = lower_triangle(graph, queries, keys);
  }
  if (!sequence.segment_ids_BT.defined()) return visible;
  return logical_and(visible, same_segment(sequence.segment_ids_BT, sequence.segment_ids_BT));
}

}  // namespace

std::vector<Value> SequenceContext::rows() const {
  std::vector<Value> values;
  if (rotary.cos.defined() && rotary.cos.rank() == 3) values = {rotary.cos, rotary.sin};
  if (segment_ids_BT.defined()) values.push_back(segment_ids_BT);
  return values;
}

SequenceContext SequenceContext::with_rows(std::span<const Value> rows) const {
  SequenceContext result = *this;
  size_t i = 0;
  if (rotary.cos.defined() && rotary.cos.rank() == 3) {
    result.rotary.cos = rows[i++];
    result.rotary.sin = rows[i++];
  }
  if (segment_ids_BT.defined()) result.segment_ids_BT = rows[i++];
  CHECK(i == rows.size());
  return result;
}

Value causal_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC, const SequenceContext& sequence,
                       const ScoreRule& rule) {
  const Value q_BTKGC = split_heads(q_BTHC, k_BSKC.dim(2));
  Value scaled = scaled_scores(q_BTKGC, k_BSKC);
  if (rule.soft_cap > 0) scaled = tanh(scaled * (1 / rule.soft_cap)) * rule.soft_cap;
  const Value visible =
      visibility(q_BTHC.graph(), q_BTHC.dim(1), k_BSKC.dim(1), sequence, rule.window);
  const Value weights_BKGTS = convert(softmax(select(visible, scaled, kMasked)), q_BTHC.dtype());
  const Value mixed_BTKGC = einsum("bkgts,bskc->btkgc", {weights_BKGTS, v_BSKC});
  return reshape(mixed_BTKGC, q_BTHC.dims());
}

Value balance_causal_order(Value x, int64_t devices, int dim) {
  if (x.dim(dim) % (2 * devices) != 0) {
    fail("[balance_causal_order] dimension ", dim, " of ", to_string(x.shape()),
         " is no multiple of 2 x ", devices);
  }
  const Dims dims = x.dims();
  Dims chunked = dims;
  chunked[dim] = 2 * devices;
  chunked.insert(chunked.begin() + dim + 1, dims[dim] / (2 * devices));
  const Value chunks = reshape(x, chunked);
  const Value first = slice_in_dim(chunks, dim, 0, devices);
  const Value second = reverse(slice_in_dim(chunks, dim, devices, 2 * devices), dim);
  return reshape(stack({first, second}, dim + 1), dims);
}

}  // namespace tessera
