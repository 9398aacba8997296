#include "tessera/models/llama/config.h"

namespace tessera {

void LlamaConfig::fields(ConfigFields& f) {
  f.field("vocab_size", vocab_size)
      .range(2, 16'777'216)
      .help("Rows of the embedding; at least as many as the tokenizer has tokens.");
  f.field("layers", layers).range(1, 1000).help("Decoder blocks.");
  f.field("embed", embed).range(2, 1'048'576).help("Width of the residual stream.");
  f.field("mlp", mlp).range(1, 4'194'304).help("Width of the feed-forward layer.");
  f.field("heads", heads).range(1, 4096).help("Attention (query) heads.");
  f.field("kv_heads", kv_heads)
      .range(1, 4096)
      .help("Key and value heads; fewer than heads is grouped-query attention.");
  f.field("head_dim", head_dim).range(2, 4096).help("Width of a head; null: embed / heads.");
  f.field("max_sequence_length", max_sequence_length)
      .at_least(1)
      .help("The longest sequence that the model is made for; null: any.");
  f.field("rope_theta", rope_theta).above(1).help("Base of the rotary frequencies.");
  f.field("norm_epsilon", norm_epsilon).above(0).help("Added to the mean square in RMSNorm.");
  f.field("sliding_window", sliding_window)
      .range(1, INT32_MAX)
      .help("How many tokens attention sees, a token itself among them; null: all before it.");
  f.field("attention_soft_cap", attention_soft_cap)
      .at_least(0)
      .help("Scores of attention become cap * tanh(score / cap); 0: as they are.");
  f.choice("activation", activation, {{"silu", Activation::kSilu}, {"gelu", Activation::kGelu}})
      .help("Of the gate in feed-forward layers: silu (SwiGLU) or gelu (GeGLU, by tanh).");
  f.field("tied_embeddings", tied_embeddings)
      .help("Use the token embedding as output head as well.");
  f.field("init_stddev", init_stddev).above(0).help("Standard deviation of the initial weights.");
}

Status LlamaConfig::validate() const {
  if (heads % kv_heads != 0) {
    return invalid_argument("heads is ", heads, ", which is no multiple of kv_heads, ", kv_heads,
                            ": each key head serves the same number of query heads");
  }
  if (!head_dim && embed % heads != 0) {
    return invalid_argument("embed is ", embed, ", which is no multiple of heads, ", heads,
                            ": give head_dim");
  }
  if (resolved_head_dim() % 2 != 0) {
    return invalid_argument("the width of a head (head_dim, else embed / heads) is ",
                            resolved_head_dim(),
                            ": rotary embeddings turn pairs, so it must be even");
  }
  return absl::OkStatus();
}

}  // namespace tessera
