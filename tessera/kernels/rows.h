#pragma once

#include <cstdint>

/// Loops over rows of numbers, in the widest vectors that processor() has. All compute in f32; T is
/// float, or uint16_t for bf16, rounded to the nearest, ties to even. Sums are in any order.
namespace tessera::kernels::rows {

/// to[i] = from[i], of bf16.
void widen(const uint16_t* from, float* to, int64_t n);
void narrow(const float* from, uint16_t* to, int64_t n);
void scale(float* x, float factor, int64_t n);
/// Turns `half` pairs (x[i], x[half + i]) by their angles, or back. `out` may be x.
template <typename T>
void rotate(const T* x, const float* cos, const float* sin, bool back, T* out, int64_t half);
template <typename T>
float dot(const T* a, const T* b, int64_t n);

/// What becomes of the product of a query and a key before the softmax: it is multiplied by
/// `factor` and, with soft_cap above 0, becomes soft_cap · tanh(it / soft_cap); keys `window` or
/// more places before the query are not seen.
struct ScoreRule {
  float factor;
  float soft_cap = 0;
  int32_t window = INT32_MAX;
};
/// Where queries or keys stand.
struct Seen {
  const int32_t *places, *segments;
};
/// Some queries and some keys, and who sees whom.
struct ScoreBlock {
  ScoreRule rule;
  int64_t queries, keys;
  Seen of_queries, of_keys;
  bool all_seen;  ///< every query sees every key
};
/// The softmax of rows of queries so far: for each the largest score and the sum of weights, and
/// `width` numbers that were mixed by those weights.
struct RunningRows {
  float *largest, *sums, *mixed;
  int64_t width;
};
/// Products of queries with keys, a line of `stride` for a query, become weights exp(score -
/// largest), 0 for keys that are not seen; their sums are added, and what `running` has is brought
/// to the largest score that there is now.
void weigh(const ScoreBlock& block, float* scores, int64_t stride, const RunningRows& running);
/// The same products with a line for a key: they become weights exp(score - log_sums[query]), and
/// of_weights their own gradients: weight · (of_weights - inner[query]) times the rule's slope.
void attention_gradient(const ScoreBlock& block, const float* log_sums, const float* inner,
                        float* scores, float* of_weights, int64_t stride);

/// out = x / sqrt(mean(x²) + epsilon) · scale.
template <typename T>
void rms_norm(const T* x, const T* scale, float epsilon, T* out, int64_t n);
/// out = x + y; it may be either.
template <typename T>
void add(const T* x, const T* y, T* out, int64_t n);
struct NormRow {
  float epsilon;
  int64_t n;
};
/// The gradients of x, to which that of what else becomes of x, `of_x`, is added, and of scale,
/// which is added to what stands there.
template <typename T>
void rms_norm_gradient(const NormRow& row, const T* x, const T* scale, const T* of_norm,
                       const T* of_x, T* x_grad, float* scale_grad);

enum class Gate : int64_t {
  kSilu,  ///< x · logistic(x)
  kGelu   ///< x / 2 · (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))), the approximation by tanh
};
/// out = act(gate) · up, and its gradients. of_both: [gate | up] and its gradient, n of each.
template <typename T>
void gated(Gate gate, const T* both, T* out, int64_t n);
template <typename T>
void gated_gradient(Gate gate, const T* both, const T* cotangent, T* both_grad, int64_t n);

/// log(sum(exp(x))).
template <typename T>
float log_sum_exp(const T* x, int64_t n);
template <typename T>
float value_at(const T* x, int64_t i);
/// Of one row of logits: their log_sum_exp, the cotangents of that and of the target's logit.
struct Token {
  float log_sum, of_log_sum, of_target;
  int32_t target;
};
/// grad = exp(logits - log_sum) · of_log_sum, and for the target, if it is a class, of_target more.
template <typename T>
void token_gradient(const Token& token, const T* logits, T* grad, int64_t n);

/// Numbers of an AdamW update; the factors are what moments are multiplied by for having begun at
/// zero, and the gradient for clipping.
struct AdamwStep {
  float b1, b2, epsilon, weight_decay, learning_rate, mu_factor, nu_factor, grad_factor;
};
template <typename Float>
struct Moments {
  Float *param, *mu, *nu;
};
/// `to` may be `from`.
template <typename T>
void adamw(const AdamwStep& step, const T* grad, const Moments<const float>& from,
           const Moments<float>& to, int64_t n);

}  // namespace tessera::kernels::rows
