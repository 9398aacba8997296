#include "tessera/nn/self_attention.h"

#include "tessera/nn/fused_attention.h"
#include "tessera/ops/control.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

const Names kInput = {"activation_batch_attn", "activation_input_length_attn",
                      "activation_embed_attn"};
const Names kHeads = {"activation_kv_batch", "activation_length_attn", "activation_kv_heads",
                      "activation_kv_head_dim"};
// Keys and values whole along the sequence, as a query split over "context" needs them.
const Names kGathered = {"activation_kv_batch", "activation_kv_length", "activation_kv_heads",
                         "activation_kv_head_dim"};
const Names kOutput = {"activation_batch_attn", "activation_length_attn", "activation_heads",
                       "activation_kv"};

// A projection, under the name that rematerialization knows it by.
Value named_product(const char* equation, Value x, Value kernel, const char* name) {
  return checkpoint_name(einsum(equation, {x, kernel}), name);
}

}  // namespace

SelfAttention::SelfAttention(const Scope& scope, const SelfAttentionConfig& c)
    : query_(scope.child("query").param("kernel", {c.embed, c.heads, c.head_dim},
                                        {"embed", "q_heads", "kv"}, c.init)),
      key_(scope.child("key").param("kernel", {c.embed, c.kv_heads, c.head_dim},
                                    {"embed", "kv_heads", "kv_head_dim"}, c.init)),
      value_(scope.child("value").param("kernel", {c.embed, c.kv_heads, c.head_dim},
                                        {"embed", "kv_heads", "kv_head_dim"}, c.init)),
      out_(scope.child("out").param("kernel", {c.heads, c.head_dim, c.embed},
                                    {"heads", "kv", "embed"}, c.output_init)),
      rule_(c.rule) {}

Value SelfAttention::operator()(Value x_BTD, const SequenceContext& sequence,
                                const AttentionOptions& options) const {
  x_BTD = constrain(x_BTD, kInput);
  const Value raw_q = named_product("btd,dhc->bthc", x_BTD, query_, "query_proj");
  const Value raw_k = named_product("btd,dkc->btkc", x_BTD, key_, "key_proj");
  // The kernel turns queries and keys itself.
  const bool fused = can_fuse_attention(raw_q, raw_k, options);
  const auto turned = [&](Value x) { return fused ? x : apply_rotary(x, sequence.rotary); };
  const Value q_BTHC = constrain(turned(raw_q), kHeads);
  const Value k_BTKC = constrain(turned(raw_k), kHeads);
  const Value v_BTKC =
      constrain(named_product("btd,dkc->btkc", x_BTD, value_, "value_proj"), kHeads);
  // Constrained twice, split and then whole: so the gradients, which take the way back, are summed
  // and split before they meet the weights.
  const auto mix = [&]() -> Value {
    if (options.is_ring())
      return ring_attention(q_BTHC, k_BTKC, v_BTKC, sequence.segment_ids_BT, options, rule_);
    const Value k_BSKC = constrain(k_BTKC, kGathered), v_BSKC = constrain(v_BTKC, kGathered);
    if (fused) return fused_attention(q_BTHC, k_BSKC, v_BSKC, sequence, rule_, options);
    return causal_attention(q_BTHC, k_BSKC, v_BSKC, sequence, rule_);
  };
  const Value context_BTHC = checkpoint_name(constrain(mix(), kOutput), "context");
  return named_product("bthc,hcd->btd", context_BTHC, out_, "out_proj");
}

}  // namespace tessera
