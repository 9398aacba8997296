#pragma once

#include <cstdint>

#include "tessera/ir/dtype.h"

/// Causal attention without the matrix of all scores: blocks of queries against blocks of keys,
/// with a running maximum and sum; the reverse pass computes the weights again. Sources: Milakov
/// and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention,
/// 2022.
namespace tessera::kernels {

// B batch, T queries, S keys, H query heads, K key heads, G = H / K, C head width.

/// Sizes, and what everyone may see: query t of row b sees key s when places_s[s] <= places_t[t]
/// and segments_bs[b,s] == segments_bt[b,t]. A query that sees no key gives zeros.
struct AttentionProblem {
  int64_t b = 0, t = 0, s = 0, h = 0, k = 0, c = 0;
  DType dtype = DType::kF32;  ///< bf16 or f32, of all but log_sums; products and sums are in f32
  const int32_t *places_t = nullptr, *places_s = nullptr;
  const int32_t *segments_bt = nullptr, *segments_bs = nullptr;
};

/// q [B,T,H,C], k and v [B,S,K,C] → softmax(q k / sqrt(C)) v in out [B,T,H,C], and the logarithms
/// of the sums of exponentials in log_sums [B,H,T], f32.
void attention_forward(const AttentionProblem& problem, int threads, const void* q, const void* k,
                       const void* v, void* out, float* log_sums);

struct AttentionReverse {
  const void *q, *k, *v, *out;
  const float* log_sums;
  const void* cotangent;  ///< of out
  void *q_grad, *k_grad, *v_grad;
};
void attention_backward(const AttentionProblem& problem, int threads,
                        const AttentionReverse& values);

}  // namespace tessera::kernels
