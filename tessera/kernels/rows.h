#pragma once

#include <cstdint>

/// Loops over rows of numbers, in the widest vectors that the processor has. All in f32.
namespace tessera::kernels::rows {

/// to[i] = from[i], of bf16.
void widen(const uint16_t* from, float* to, int64_t n);
/// Rounded to the nearest bf16, ties to even; a NaN stays one.
void narrow(const float* from, uint16_t* to, int64_t n);
void scale(float* x, float factor, int64_t n);
float dot(const float* a, const float* b, int64_t n);

/// Whom a query or key may look at: its place in the sequence, and its segment.
struct Seen {
  int32_t place, segment;
};
/// scores[i] = scores[i] · factor where key i is seen by `query`, else what weighs nothing; the
/// largest.
float mask_scores(float* scores, float factor, Seen query, const int32_t* places,
                  const int32_t* segments, int64_t n);
/// scores[i] = exp(scores[i] - largest), 0 for what mask_scores masked; their sum.
float weigh(float* scores, float largest, int64_t n);

/// For one key and n queries: weights[i] = exp(scores[i] · factor - log_sums[i]), 0 for queries
/// that do not see it, from the scores that stand there.
void weigh_again(float* weights, float factor, const float* log_sums, Seen key,
                 const int32_t* places, const int32_t* segments, int64_t n);
/// of_scores[i] = weights[i] · (of_scores[i] - inner[i]) · factor.
void softmax_gradient(float* of_scores, const float* weights, const float* inner, float factor,
                      int64_t n);

}  // namespace tessera::kernels::rows
