#pragma once

#include <cstdint>

#include "tessera/ir/dtype.h"

/// Causal attention without the matrix of all scores: blocks of queries against blocks of keys,
/// with a running maximum and sum; the reverse pass computes the weights again. Sources: Milakov
/// and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention,
/// 2022.
namespace tessera::kernels {

// B batch, T queries, S keys, H query heads, K key heads, G = H / K, C head width.

/// Angles by which heads are turned: element (b, position, i) of cos and sin is at b·batch +
/// position·C/2 + i, and pair i of a head is its elements i and C/2 + i. Null: heads stay as they
/// are.
struct RotaryAngles {
  const float *cos = nullptr, *sin = nullptr;
  int64_t batch = 0;  ///< 0: all rows have the same
};

/// Sizes, and what everyone may see: query t of row b sees key s when places_s[s] <= places_t[t],
/// places_t[t] - places_s[s] < window and segments_bs[b,s] == segments_bt[b,t]. A query that sees
/// no key gives zeros.
struct AttentionProblem {
  int64_t b = 0, t = 0, s = 0, h = 0, k = 0, c = 0;
  DType dtype = DType::kF32;  ///< bf16 or f32, of all but log_sums; products and sums are in f32
  const int32_t *places_t = nullptr, *places_s = nullptr;
  const int32_t *segments_bt = nullptr, *segments_bs = nullptr;
  int32_t window = INT32_MAX;
  float soft_cap = 0;               ///< above 0: scores become soft_cap · tanh(score / soft_cap)
  RotaryAngles rotary_t, rotary_s;  ///< of queries and of keys; with an even C
};

/// q [B,T,H,C], k and v [B,S,K,C] → softmax(q k / sqrt(C)) v in out [B,T,H,C], q and k turned, and
/// the logarithms of the sums of exponentials in log_sums [B,H,T], f32.
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
