#pragma once

#include "tessera/nn/attention.h"

namespace tessera {

struct SelfAttentionConfig {
  int64_t embed = 0;     ///< D
  int64_t heads = 0;     ///< H
  int64_t kv_heads = 0;  ///< K, a divisor of H
  int64_t head_dim = 0;  ///< C, even
  Init init;             ///< of query, key and value
  Init output_init;
  ScoreRule rule = {};
};

/// Causal self-attention with rotary positions and grouped heads: parameters "query.kernel"
/// [D,H,C], "key.kernel" and "value.kernel" [D,K,C], "out.kernel" [H,C,D].
/// Sources: Vaswani et al., 2017; Ainslie et al., GQA, 2023.
class SelfAttention {
 public:
  SelfAttention(const Scope& scope, const SelfAttentionConfig& config);

  /// x: [B,T,D] → [B,T,D].
  Value operator()(Value x_BTD, const SequenceContext& sequence,
                   const AttentionOptions& options) const;

 private:
  Param query_, key_, value_, out_;
  ScoreRule rule_;
};

}  // namespace tessera
