// Compiled with vectors in mind: see layer.cmake.
#include "tessera/kernels/rows.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tessera/kernels/processor.h"

namespace tessera::kernels::rows {
namespace {

constexpr float kMasked = -1e30f;

namespace any {
#include "tessera/kernels/rows_inl.h"
}  // namespace any

#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#include "tessera/kernels/rows_inl.h"
}  // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma,prefer-vector-width=512")
namespace avx512 {
#include "tessera/kernels/rows_inl.h"
}  // namespace avx512
#pragma GCC pop_options

}  // namespace

// The copy of a loop for this processor.
#define CHOOSE(call)                                \
  (processor() >= Processor::kAvx512 ? avx512::call \
   : processor() == Processor::kAvx2 ? avx2::call   \
                                     : any::call)

void widen(const uint16_t* from, float* to, int64_t n) { CHOOSE(widen(from, to, n)); }
void narrow(const float* from, uint16_t* to, int64_t n) { CHOOSE(narrow(from, to, n)); }
void scale(float* x, float factor, int64_t n) { CHOOSE(scale(x, factor, n)); }

void weigh(const ScoreBlock& block, float* scores, int64_t stride, const RunningRows& running) {
  CHOOSE(weigh(block, scores, stride, running));
}

void attention_gradient(const ScoreBlock& block, const float* log_sums, const float* inner,
                        float* scores, float* of_weights, int64_t stride) {
  CHOOSE(attention_gradient(block, log_sums, inner, scores, of_weights, stride));
}

template <typename T>
void rotate(const T* x, const float* cos, const float* sin, bool back, T* out, int64_t half) {
  CHOOSE(rotate(x, cos, sin, back, out, half));
}

template <typename T>
float dot(const T* a, const T* b, int64_t n) {
  return CHOOSE(dot(a, b, n));
}

template <typename T>
void rms_norm(const T* x, const T* scale, float epsilon, T* out, int64_t n) {
  CHOOSE(rms_norm(x, scale, epsilon, out, n));
}

template <typename T>
void add(const T* x, const T* y, T* out, int64_t n) {
  CHOOSE(add(x, y, out, n));
}

template <typename T>
void rms_norm_gradient(const NormRow& row, const T* x, const T* scale, const T* of_norm,
                       const T* of_x, T* x_grad, float* scale_grad) {
  CHOOSE(rms_norm_gradient(row, x, scale, of_norm, of_x, x_grad, scale_grad));
}

template <typename T>
void gated(Gate gate, const T* both, T* out, int64_t n) {
  CHOOSE(gated(gate, both, out, n));
}

template <typename T>
void gated_gradient(Gate gate, const T* both, const T* cotangent, T* both_grad, int64_t n) {
  CHOOSE(gated_gradient(gate, both, cotangent, both_grad, n));
}

template <typename T>
float log_sum_exp(const T* x, int64_t n) {
  return CHOOSE(log_sum_exp(x, n));
}

template <typename T>
float value_at(const T* x, int64_t i) {
  return CHOOSE(value_at(x, i));
}

template <typename T>
void token_gradient(const Token& token, const T* logits, T* grad, int64_t n) {
  CHOOSE(token_gradient(token, logits, grad, n));
}

template <typename T>
void adamw(const AdamwStep& step, const T* grad, const Moments<const float>& from,
           const Moments<float>& to, int64_t n) {
  CHOOSE(adamw(step, grad, from, to, n));
}

#define FOR_TYPE(T)                                                                           \
  template float dot(const T*, const T*, int64_t);                                            \
  template void rotate(const T*, const float*, const float*, bool, T*, int64_t);              \
  template void rms_norm(const T*, const T*, float, T*, int64_t);                             \
  template void add(const T*, const T*, T*, int64_t);                                         \
  template void rms_norm_gradient(const NormRow&, const T*, const T*, const T*, const T*, T*, \
                                  float*);                                                    \
  template void gated(Gate, const T*, T*, int64_t);                                           \
  template void gated_gradient(Gate, const T*, const T*, T*, int64_t);                        \
  template float log_sum_exp(const T*, int64_t);                                              \
  template float value_at(const T*, int64_t);                                                 \
  template void token_gradient(const Token&, const T*, T*, int64_t);                          \
  template void adamw(const AdamwStep&, const T*, const Moments<const float>&,                \
                      const Moments<float>&, int64_t);
FOR_TYPE(float)
FOR_TYPE(uint16_t)

}  // namespace tessera::kernels::rows
