#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/config.h"
#include "tessera/nn/activation.h"

namespace tessera {

/// The shape of a Llama-style decoder. Names follow the field's usage; Hugging Face's are beside
/// them.
struct LlamaConfig {
  int64_t vocab_size = 8192;
  int64_t layers = 6;               ///< num_hidden_layers
  int64_t embed = 512;              ///< hidden_size
  int64_t mlp = 1536;               ///< intermediate_size
  int64_t heads = 8;                ///< num_attention_heads
  int64_t kv_heads = 8;             ///< num_key_value_heads
  std::optional<int64_t> head_dim;  ///< embed / heads unless given
  std::optional<int64_t>
      max_sequence_length;  ///< max_position_embeddings: the longest it is made for
  double rope_theta = 10000;
  double norm_epsilon = 1e-5;                 ///< rms_norm_eps
  std::optional<int64_t> sliding_window;      ///< sliding_window
  double attention_soft_cap = 0;              ///< attn_logit_softcapping
  Activation activation = Activation::kSilu;  ///< hidden_act
  bool tied_embeddings = false;               ///< tie_word_embeddings
  double init_stddev = 0.02;                  ///< initializer_range

  int64_t resolved_head_dim() const { return head_dim.value_or(embed / heads); }

  void fields(ConfigFields& f);
  /// What concerns several fields: heads and kv_heads, an even head size for rotary embeddings.
  Status validate() const;
};

}  // namespace tessera
