#include <algorithm>
#include <cmath>

#include "tessera/nn/attention.h"
#include "tessera/nn/attention_internal.h"
#include "tessera/nn/precision_internal.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_ops.h"

// Shapes: those of attention.h, of one device's part. A device's own part of the sequence is T
// columns; those that come by are S.

namespace tessera {
namespace {

using namespace attention_internal;
using Values = std::vector<Value>;
using Args = std::span<const Value>;

constexpr const char* kAxis = "context";

/// Part of a block of scores: some queries against some keys.
struct Range {
  int64_t start = 0, end = 0;
  bool is_all(int64_t size) const { return start == 0 && end == size; }
};

Value cut(Value x, int dim, Range range) {
  return range.is_all(x.dim(dim)) ? x : slice_in_dim(x, dim, range.start, range.end);
}

// x with `part` in the place of the range.
Value replace(Value x, Value part, int dim, Range range) {
  if (range.is_all(x.dim(dim))) return part;
  Values pieces;
  if (range.start > 0) pieces.push_back(slice_in_dim(x, dim, 0, range.start));
  pieces.push_back(part);
  if (range.end < x.dim(dim)) pieces.push_back(slice_in_dim(x, dim, range.end, x.dim(dim)));
  return concatenate(pieces, dim);
}

/// The queries of a device and what they see.
struct Queries {
  Value q_BTKGC;
  Value segments_BT;  // or undefined
};

/// A block's scores, masked: [B,K,G,T,S].
Value block_scores(const Queries& queries, Value k_BSKC, Value segments_BS, Range t, Range s,
                   bool own) {
  const Value q = cut(queries.q_BTKGC, 1, t), k = cut(k_BSKC, 1, s);
  const Value scores = scaled_scores(q, k);
  Value visible;
  if (own) visible = lower_triangle(q.graph(), q.dim(1), k.dim(1));
  if (segments_BS.defined()) {
    const Value same = same_segment(cut(queries.segments_BT, 1, t), cut(segments_BS, 1, s));
    visible = visible.defined() ? logical_and(visible, same) : same;
  }
  return visible.defined() ? select(visible, scores, kMasked) : scores;
}

/// What the softmax of a row has come to so far: [B,K,G,T] and, of the sum of values, [B,K,G,T,C].
struct Running {
  Value maximum, sum, mixed;

  static Running from(Args values) { return {values[0], values[1], values[2]}; }
  Values values() const { return {maximum, sum, mixed}; }
  Running part(Range t) const { return {cut(maximum, 3, t), cut(sum, 3, t), cut(mixed, 3, t)}; }
  Running with(const Running& rows, Range t) const {
    return {replace(maximum, rows.maximum, 3, t), replace(sum, rows.sum, 3, t),
            replace(mixed, rows.mixed, 3, t)};
  }
};

Value mix(Value weights_BKGTS, Value v_BSKC) {
  const DType wide = weights_BKGTS.dtype();
  return einsum("bkgts,bskc->bkgtc", {convert(weights_BKGTS, v_BSKC.dtype()), v_BSKC},
                {.dtype = wide});
}

// The first block, a device's own, in which every query sees itself: so the maximum is never
// kMasked, and what is masked weighs exp(kMasked - maximum) = 0 here and in all later blocks.
Running begin(Value scores, Value v_BSKC) {
  const Value maximum = max(scores, -1);
  const Value weights = exp(scores - expand_dims(maximum, -1));
  return {maximum, sum(weights, -1), mix(weights, v_BSKC)};
}

Running absorb(const Running& before, Value scores, Value v_BSKC) {
  const Value maximum = tessera::maximum(before.maximum, max(scores, -1));
  const Value weights = exp(scores - expand_dims(maximum, -1));
  const Value shrink = exp(before.maximum - maximum);
  return {maximum, before.sum * shrink + sum(weights, -1),
          before.mixed * expand_dims(shrink, -1) + mix(weights, v_BSKC)};
}

/// The gradients of queries, keys and values, in the wide dtype.
struct Gradients {
  Value q_BTKGC, k_BSKC, v_BSKC;

  static Gradients from(Args values) { return {values[0], values[1], values[2]}; }
  Values values() const { return {q_BTKGC, k_BSKC, v_BSKC}; }
};

/// What the reverse pass knows of a device's queries: all [B,K,G,T] or [B,K,G,T,C].
struct Reverse {
  Value log_sum;    // of the exponentials of a row's scores
  Value cotangent;  // of the result
  Value inner;      // a row's sum of cotangent times result
};

// Adds one block's part to the gradients.
Gradients add_block(const Gradients& sums, const Reverse& reverse, const Queries& queries,
                    Value k_BSKC, Value v_BSKC, Value scores, Range t, Range s) {
  const DType wide = scores.dtype(), narrow = k_BSKC.dtype();
  const DotOptions exact{.dtype = wide};
  const Value q = cut(queries.q_BTKGC, 1, t), k = cut(k_BSKC, 1, s), v = cut(v_BSKC, 1, s);
  const Value cotangent = cut(reverse.cotangent, 3, t);
  const Value weights = exp(scores - expand_dims(cut(reverse.log_sum, 3, t), -1));
  const Value of_weights = einsum("bkgtc,bskc->bkgts", {cotangent, v}, exact);
  const Value of_scores = weights * (of_weights - expand_dims(cut(reverse.inner, 3, t), -1));
  const Value of_products =
      convert(of_scores * (1 / std::sqrt(static_cast<double>(k_BSKC.dim(3)))), narrow);
  const Value dq = einsum("bkgts,bskc->btkgc", {of_products, k}, exact);
  const Value dk = einsum("bkgts,btkgc->bskc", {of_products, q}, exact);
  const Value dv = einsum("bkgts,bkgtc->bskc", {convert(weights, narrow), cotangent}, exact);
  return {replace(sums.q_BTKGC, cut(sums.q_BTKGC, 1, t) + dq, 1, t),
          replace(sums.k_BSKC, cut(sums.k_BSKC, 1, s) + dk, 1, s),
          replace(sums.v_BSKC, cut(sums.v_BSKC, 1, s) + dv, 1, s)};
}

/// A region over the devices of a ring.
class Ring {
 public:
  Ring(const AttentionOptions& options, const Shape& q, const Shape& k)
      : mesh_(*options.mesh), balanced_(options.load_balanced) {
    size_ = mesh_.axis_size(kAxis);
    const auto heads = resolve(options, {"activation_kv_batch", "activation_length_attn",
                                         "activation_kv_heads", "activation_kv_head_dim"});
    batch_ = dividing(heads.dims[0], q.dims[0]);
    heads_ = dividing(heads.dims[2], k.dims[2]);
    const auto& length = heads.dims[1];
    if (length != std::vector<std::string>{kAxis}) {
      fail(
          "[ring_attention] the rule of activation_length_attn must split the sequence by the "
          "axis context alone, and splits it by ",
          length.empty() ? "none" : to_string(PartitionSpec{{length}}));
    }
    if (q.dims[1] % (size_ * (balanced_ ? 2 : 1)) != 0) {
      fail("[ring_attention] ", q.dims[1], " positions cannot be cut into ",
           balanced_ ? 2 * size_ : size_, " chunks");
    }
    if (options.manual_axes.empty()) return;
    for (const MeshAxis& axis : mesh_.axes()) {
      const auto& outside = options.manual_axes;
      if (std::find(outside.begin(), outside.end(), axis.name) == outside.end())
        axes_.push_back(axis.name);
    }
  }

  PartitionSpec heads() const { return {{batch_, {kAxis}, heads_}}; }         // [B,T,K or H,..]
  PartitionSpec rows() const { return {{batch_, {kAxis}}}; }                  // [B,T]
  PartitionSpec log_sums() const { return {{batch_, heads_, {}, {kAxis}}}; }  // [B,K,G,T]

  Values run(std::vector<PartitionSpec> in, std::vector<PartitionSpec> out, Args args,
             const ManualBody& body) const {
    return manual_region({.mesh = mesh_, .in = std::move(in), .out = std::move(out), .axes = axes_},
                         args, body);
  }

  /// Every value from the device before this one.
  Values pass(Args values) const {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t i = 0; i < size_; ++i) pairs.push_back({i, (i + 1) % size_});
    Values passed;
    for (Value value : values) passed.push_back(ppermute(value, mesh_, kAxis, pairs));
    return passed;
  }

  int64_t size() const { return size_; }

  /// What of a block from another device is seen: `step` steps ago the keys were at home. A device
  /// with a lower place holds earlier keys: all queries see all of them or, in balanced order, all
  /// see their first half (the second is the latest of all). Of a higher one's no query sees any,
  /// or, in balanced order, the second half of the queries sees all of them.
  Values visible_part(Value like, Value step, int64_t columns,
                      const std::function<Values(Args, Range t, Range s)>& block, Args sums) const {
    const Value is_earlier = greater_equal(axis_index(like, mesh_, kAxis), step);
    const Range all{0, columns}, first{0, columns / 2}, second{columns / 2, columns};
    return cond(
        is_earlier, [&](Args operands) { return block(operands, all, balanced_ ? first : all); },
        [&](Args operands) {
          return balanced_ ? block(operands, second, all)
                           : Values(operands.begin(), operands.end());
        },
        sums);
  }

 private:
  PartitionSpec resolve(const AttentionOptions& options, std::vector<std::string> names) const {
    Result<PartitionSpec> spec = options.rules.resolve(names, mesh_);
    if (!spec.ok()) throw TraceError(annotate(spec.status(), "[ring_attention]"));
    for (auto& dim : spec->dims) {
      std::erase_if(dim, [&](const std::string& axis) {
        return std::find(options.manual_axes.begin(), options.manual_axes.end(), axis) !=
               options.manual_axes.end();
      });
    }
    return *std::move(spec);
  }

  // The axes that split `size` evenly; where one does not, its devices do the same work.
  std::vector<std::string> dividing(const std::vector<std::string>& axes, int64_t size) const {
    std::vector<std::string> kept;
    int64_t parts = 1;
    for (const std::string& axis : axes) {
      if (size % (parts * mesh_.axis_size(axis)) != 0) continue;
      parts *= mesh_.axis_size(axis);
      kept.push_back(axis);
    }
    return kept;
  }

  Mesh mesh_;
  bool balanced_;
  int64_t size_ = 1;
  std::vector<std::string> batch_, heads_, axes_;
};

Value counter(Value like) { return full(like.graph(), Shape{DType::kS32, {}}, 1); }

// q, k, v and perhaps segment ids → result in the order [B,T,H,C], and the logarithms of the sums.
Values forward(const Ring& ring, Args args) {
  const Value q_BTHC = args[0];
  const bool segmented = args.size() > 3;
  const Queries queries{split_heads(q_BTHC, args[1].dim(2)), segmented ? args[3] : Value()};
  const int64_t columns = q_BTHC.dim(1);
  const Range all{0, columns};
  const Running own =
      begin(block_scores(queries, args[1], segmented ? args[3] : Value(), all, all, true), args[2]);
  const size_t passing = args.size() - 1;
  Values carry = {counter(q_BTHC)};
  carry.insert(carry.end(), args.begin() + 1, args.end());
  for (Value value : own.values()) carry.push_back(value);
  const ScanBody body = [&](Args before, Args) -> ScanStep {
    const Value step = before[0];
    const Values here = ring.pass(before.subspan(1, passing));
    const Values sums = ring.visible_part(
        here[0], step, columns,
        [&](Args operands, Range t, Range s) {
          const Value scores =
              block_scores(queries, here[0], segmented ? here[2] : Value(), t, s, false);
          const Running running = Running::from(operands);
          return running.with(absorb(running.part(t), scores, cut(here[1], 1, s)), t).values();
        },
        before.subspan(1 + passing));
    Values after = {step + 1};
    after.insert(after.end(), here.begin(), here.end());
    after.insert(after.end(), sums.begin(), sums.end());
    return {.carry = after, .ys = {}};
  };
  const Values end = scan(body, carry, {}, {.length = ring.size() - 1}).carry;
  const Running total = Running::from(std::span(end).last(3));
  const Value mixed_BKGTC = total.mixed / expand_dims(total.sum, -1);
  const Value mixed_BTKGC = transpose(convert(mixed_BKGTC, q_BTHC.dtype()), {0, 3, 1, 2, 4});
  return {reshape(mixed_BTKGC, q_BTHC.dims()), total.maximum + log(total.sum)};
}

// q, k, v, perhaps segment ids, then result, logarithms of sums, cotangent of the result → the
// cotangents of q, k and v. What goes round: keys, values, perhaps segment ids, and the gradients
// of the keys and values that they stand for, which one more step brings home.
Values backward(const Ring& ring, Args args) {
  const bool segmented = args.size() > 6;
  const Value q_BTHC = args[0], k = args[1], v = args[2];
  const Value segments = segmented ? args[3] : Value();
  const DType wide = wide_dtype(q_BTHC.dtype());
  const int64_t columns = q_BTHC.dim(1);
  const Range all{0, columns};
  const auto rows_last = [&](Value x_BTHC) {
    return transpose(split_heads(x_BTHC, k.dim(2)), {0, 2, 3, 1, 4});
  };
  const Value result = args[args.size() - 3], cotangent = rows_last(args[args.size() - 1]);
  const Reverse reverse{args[args.size() - 2], cotangent,
                        sum(convert(rows_last(result), wide) * convert(cotangent, wide), -1)};
  const Queries queries{split_heads(q_BTHC, k.dim(2)), segments};
  const auto zero = [&](Value like) { return zeros(like.graph(), Shape{wide, like.dims()}); };
  const Gradients own = add_block({zero(queries.q_BTKGC), zero(k), zero(v)}, reverse, queries, k, v,
                                  block_scores(queries, k, segments, all, all, true), all, all);
  Values carry = {counter(q_BTHC), own.q_BTKGC, own.k_BSKC, own.v_BSKC, k, v};
  if (segmented) carry.push_back(segments);
  const ScanBody body = [&](Args before, Args) -> ScanStep {
    const Value step = before[0];
    const Values here = ring.pass(before.subspan(2));  // dk, dv, k, v, segments
    const Values sums_before = {before[1], here[0], here[1]};
    const Values sums = ring.visible_part(
        here[2], step, columns,
        [&](Args operands, Range t, Range s) {
          const Value scores =
              block_scores(queries, here[2], segmented ? here[4] : Value(), t, s, false);
          return add_block(Gradients::from(operands), reverse, queries, here[2], here[3], scores, t,
                           s)
              .values();
        },
        sums_before);
    Values after = {step + 1};
    after.insert(after.end(), sums.begin(), sums.end());
    after.insert(after.end(), here.begin() + 2, here.end());
    return {.carry = after, .ys = {}};
  };
  const Values end = scan(body, carry, {}, {.length = ring.size() - 1}).carry;
  const Values home = ring.pass(std::span(end).subspan(2, 2));
  return {convert(reshape(end[1], q_BTHC.dims()), q_BTHC.dtype()), convert(home[0], k.dtype()),
          convert(home[1], v.dtype())};
}

}  // namespace

bool AttentionOptions::is_ring() const {
  return strategy == ContextStrategy::kRing && mesh && mesh->find_axis(kAxis) &&
         mesh->axis_size(kAxis) > 1;
}

Value ring_attention(Value q_BTHC, Value k_BTKC, Value v_BTKC, Value segment_ids_BT,
                     const AttentionOptions& options, const ScoreRule& rule) {
  if (!options.is_ring()) fail("[ring_attention] needs a mesh whose axis context is larger than 1");
  if (!rule.is_plain()) fail("[ring_attention] has no sliding window and no soft cap");
  const Ring ring(options, q_BTHC.shape(), k_BTKC.shape());
  Values args = {q_BTHC, k_BTKC, v_BTKC};
  std::vector<PartitionSpec> in(3, ring.heads());
  if (segment_ids_BT.defined()) {
    args.push_back(segment_ids_BT);
    in.push_back(ring.rows());
  }
  const Branch run = [&](Args xs) {
    return ring.run(in, {ring.heads(), ring.log_sums()}, xs,
                    [&](Args local) { return forward(ring, local); });
  };
  const CustomVjp vjp = [ring, in](Args xs, Args results, Args cotangents) {
    Values all(xs.begin(), xs.end());
    all.insert(all.end(), {results[0], results[1], cotangents[0]});
    std::vector<PartitionSpec> specs = in;
    specs.insert(specs.end(), {ring.heads(), ring.log_sums(), ring.heads()});
    Values grads = ring.run(specs, {ring.heads(), ring.heads(), ring.heads()}, all,
                            [&](Args local) { return backward(ring, local); });
    grads.resize(xs.size());  // segment ids have none
    return grads;
  };
  return custom_gradient(run, vjp, args)[0];
}

}  // namespace tessera
