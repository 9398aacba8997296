#include "tessera/nn/fused_attention.h"

#include "tessera/nn/call_number.h"
#include "tessera/nn/kernel_region.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using Values = std::vector<Value>;
using Args = std::span<const Value>;
using Axes = std::vector<std::string>;

/// How the work is cut over a mesh, and the region that it is done in.
class Parts {
 public:
  Parts(const AttentionOptions& options, const Shape& q, const Shape& k, const ScoreRule& rule)
      : region_({.names = {"attention"},
                 .threads = options.kernel_threads,
                 .mesh = options.mesh,
                 .rules = options.rules,
                 .manual_axes = options.manual_axes}),
        config_(region_.config(str_cat("soft_cap = ", call_number(rule.soft_cap),
                                       ", window = ", rule.window, " : i64,"))) {
    PartitionSpec spec =
        region_.spec({"activation_kv_batch", "activation_length_attn", "activation_kv_heads", ""},
                     {q.dims[0], q.dims[1], k.dims[2], 1});
    spec.dims.resize(4);
    batch_ = spec.dims[0];
    length_ = spec.dims[1];
    heads_ = spec.dims[2];
  }

  const KernelRegion& region() const { return region_; }
  const std::string& config() const { return config_; }
  PartitionSpec queries() const { return {{batch_, length_, heads_}}; }   // [B,T,H,C]
  PartitionSpec keys() const { return {{batch_, {}, heads_}}; }           // [B,S,K,C]
  PartitionSpec log_sums() const { return {{batch_, heads_, length_}}; }  // [B,H,T]
  /// Of q, k, v, and of queries and keys each: places, segments, cosines and sines.
  std::vector<PartitionSpec> inputs(const RotaryTables& rotary) const {
    PartitionSpec angles_t, angles_s;  // of [T,C/2] or [B,T,C/2], or of nothing
    if (rotary.cos.defined() && rotary.cos.rank() == 2) angles_t = {{length_}};
    if (rotary.cos.defined() && rotary.cos.rank() == 3) {
      angles_t = {{batch_, length_}};
      angles_s = {{batch_}};
    }
    return {queries(),  keys(),   keys(),   {{length_}}, {},      {{batch_, length_}},
            {{batch_}}, angles_t, angles_t, angles_s,    angles_s};
  }
  /// The sum over the devices that have other queries of the same rows and heads.
  Value sum_over_queries(Value x) const { return region_.sum(x, length_); }

 private:
  KernelRegion region_;
  std::string config_;
  Axes batch_, length_, heads_;
};

Values forward(const Parts& parts, Args args) {
  const Value q = args[0];
  const Shape log_sums{DType::kF32, {q.dim(0), q.dim(2), q.dim(1)}};
  return custom_call(args, {.target = "tessera.attention_forward",
                            .backend_config = parts.config(),
                            .results = {q.shape(), log_sums}});
}

Values backward(const Parts& parts, Args args) {
  Values grads =
      custom_call(args, {.target = "tessera.attention_backward",
                         .backend_config = parts.config(),
                         .results = {args[0].shape(), args[1].shape(), args[2].shape()}});
  for (int i : {1, 2}) grads[i] = parts.sum_over_queries(grads[i]);
  return grads;
}

}  // namespace

bool can_fuse_attention(Value q_BTHC, Value k_BSKC, const AttentionOptions& options) {
  if (!options.fused || options.is_ring()) return false;
  if (q_BTHC.dtype() != DType::kBF16 && q_BTHC.dtype() != DType::kF32) return false;
  return q_BTHC.shape().elements() > 0 && k_BSKC.shape().elements() > 0 &&
         q_BTHC.dim(2) % k_BSKC.dim(2) == 0;
}

Value fused_attention(Value q_BTHC, Value k_BSKC, Value v_BSKC, const SequenceContext& sequence,
                      const ScoreRule& rule, const AttentionOptions& options) {
  Graph& graph = q_BTHC.graph();
  const int64_t batch = q_BTHC.dim(0), queries = q_BTHC.dim(1), keys = k_BSKC.dim(1);
  const auto places = [&](int64_t size) {
    return sequence.order_T.defined() ? sequence.order_T
                                      : iota(graph, Shape{DType::kS32, {size}}, 0);
  };
  const auto segments = [&](int64_t size) {
    return sequence.segment_ids_BT.defined() ? sequence.segment_ids_BT
                                             : full(graph, Shape{DType::kS32, {batch, size}}, 0);
  };
  const RotaryTables& rotary = sequence.rotary;
  const auto angles = [&](Value table) {
    return table.defined() ? convert(table, DType::kF32) : zeros(graph, Shape{DType::kF32, {0}});
  };
  const Value cos = angles(rotary.cos), sin = angles(rotary.sin);
  const Parts parts(options, q_BTHC.shape(), k_BSKC.shape(), rule);
  const std::vector<PartitionSpec> inputs = parts.inputs(rotary);
  const Values args = {
      q_BTHC, k_BSKC, v_BSKC, places(queries), places(keys), segments(queries), segments(keys), cos,
      sin,    cos,    sin};
  const Branch run = [&](Args xs) {
    return parts.region().run(inputs, {parts.queries(), parts.log_sums()}, xs,
                              [&](Args local) { return forward(parts, local); });
  };
  const CustomVjp vjp = [parts, inputs](Args xs, Args results, Args cotangents) {
    Values all(xs.begin(), xs.end());
    all.insert(all.end(), {results[0], results[1], cotangents[0]});
    std::vector<PartitionSpec> in = inputs;
    in.insert(in.end(), {parts.queries(), parts.log_sums(), parts.queries()});
    Values grads = parts.region().run(in, {parts.queries(), parts.keys(), parts.keys()}, all,
                                      [&](Args local) { return backward(parts, local); });
    grads.resize(xs.size());  // places, segments and angles have none
    return grads;
  };
  return custom_gradient(run, vjp, args)[0];
}

}  // namespace tessera
