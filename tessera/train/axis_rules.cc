#include "tessera/train/axis_rules.h"

#include "tessera/base/strings.h"

namespace tessera {
namespace {

using Axes = std::vector<std::string>;

Axes operator+(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Axes kContext = {"context", "context_usp_ulysses"};
const Axes kFsdp =
    Axes{"fsdp", "fsdp_transpose"} + kContext;  // all that a weight's width is cut by
const Axes kTensor = {"tensor", "tensor_sequence"};
const Axes kTensorDecode = kTensor + Axes{"autoregressive"};
const Axes kBatch = {"data", "fsdp", "fsdp_transpose", "expert"};

void add(std::vector<AxisRule>& rules, std::initializer_list<const char*> names, const Axes& axes) {
  for (const char* name : names) rules.push_back({name, axes});
}

void add_activations(std::vector<AxisRule>& rules) {
  // First, so that a value with a dimension of experts is split by them, and its batch by what is
  // left: without expert, which the rows have elsewhere.
  add(rules, {"activation_exp"}, {"expert"});
  add(rules, {"activation_embed_and_logits_batch"},
      {"data", "stage", "fsdp", "fsdp_transpose", "expert"});
  add(rules, {"activation_embed_and_logits_batch_sequence"},
      Axes{"data", "stage"} + kFsdp + Axes{"expert"});
  add(rules, {"activation_vocab"}, kTensor);
  add(rules, {"activation_vocab"}, {"tensor"});
  add(rules, {"activation_vocab"}, {"tensor_sequence"});
  add(rules,
      {"activation_batch_attn", "activation_batch_moe", "activation_batch", "activation_kv_batch"},
      kBatch);
  add(rules, {"activation_batch_moe"}, {"data", "fsdp", "fsdp_transpose"});
  add(rules, {"activation_input_length_attn"}, {"tensor_sequence", "context"});
  add(rules, {"activation_heads"}, kTensorDecode);
  add(rules, {"activation_kv_heads", "activation_kv", "activation_kv_head_dim"}, kTensor);
  add(rules,
      {"activation_length_attn", "activation_q_length", "activation_length_moe",
       "activation_length"},
      kContext);
  add(rules, {"activation_kv_length"}, {});
  add(rules, {"activation_norm_length", "activation_norm_length_moe"},
      Axes{"tensor_sequence"} + kContext);
  add(rules, {"activation_embed", "activation_embed_attn", "activation_embed_moe"}, {"tensor"});
  add(rules, {"activation_mlp", "activation_mlp_moe"}, kTensor);
  add(rules, {"activation_stage"}, {"stage"});
}

void add_weights(std::vector<AxisRule>& rules) {
  add(rules, {"layers"}, {"stage"});
  add(rules, {"vocab"}, kTensorDecode);
  add(rules, {"embed_vocab"}, kFsdp + Axes{"expert"});
  add(rules, {"heads", "q_heads", "kv_heads"}, kTensorDecode);
  add(rules, {"qkv", "kv", "kv_head_dim"}, {});
  add(rules, {"embed"}, kFsdp + Axes{"expert"});
  add(rules, {"embed"}, Axes{"fsdp"} + kContext + Axes{"expert"});
  add(rules, {"exp"}, {"expert"});
  add(rules, {"mlp", "mlp_moe"}, Axes{"fsdp_transpose"} + kTensorDecode);
  add(rules, {"embed_moe"}, kFsdp);
  add(rules, {"embed_moe"}, Axes{"fsdp"} + kContext);
  add(rules, {"norm"}, {"tensor"});
  add(rules, {"circular_repeats", "dense_layers", "moe_layers"}, {});
}

}  // namespace

AxisRules default_axis_rules() {
  std::vector<AxisRule> rules;
  add_activations(rules);
  add_weights(rules);
  return AxisRules(std::move(rules));
}

}  // namespace tessera
