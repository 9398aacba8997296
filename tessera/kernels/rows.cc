// Compiled with vectors in mind: see layer.cmake.
#include "tessera/kernels/rows.h"

#include <bit>
#include <cmath>

// Of each loop one copy a kind of processor, chosen when the program starts. Sanitizers do not get
// along with that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOR_EACH_PROCESSOR
#else
#define FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#endif

namespace tessera::kernels::rows {
namespace {

constexpr float kMasked = -1e30f;

// e^x to about 1e-7, for x up to 88; 0 below -87. Source: e^x = 2^n e^r with n = round(x / ln 2),
// and the Taylor series of e^r for |r| <= ln 2 / 2.
inline __attribute__((always_inline)) float exponential(float x) {
  const float clamped = x < -87.0f ? -87.0f : x;
  const float n = std::rint(clamped * 1.44269504f);
  const float r = (clamped - n * 0.693145752f) - n * 1.42860677e-6f;
  float series = 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r + 1.0f;
  series = series * r + 1.0f;
  const int32_t power = static_cast<int32_t>(n) + 127;
  const float two_to_n = std::bit_cast<float>(power << 23);
  return x < -87.0f ? 0.0f : series * two_to_n;
}

// In lanes, since a compiler that minds NaN will not reorder a maximum.
inline __attribute__((always_inline)) float largest_of(const float* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  float lanes[kLanes];
  for (float& lane : lanes) lane = kMasked;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = lanes[lane] < x[i + lane] ? x[i + lane] : lanes[lane];
  }
  float largest = kMasked;
  for (const float lane : lanes) largest = largest < lane ? lane : largest;
  for (; i < n; ++i) largest = largest < x[i] ? x[i] : largest;
  return largest;
}

}  // namespace

FOR_EACH_PROCESSOR
void widen(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
}

FOR_EACH_PROCESSOR
void narrow(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(from[i]);
    const uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
    to[i] = static_cast<uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
  }
}

FOR_EACH_PROCESSOR
void scale(float* x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

FOR_EACH_PROCESSOR
float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

FOR_EACH_PROCESSOR
float mask_scores(float* scores, float factor, Seen query, const int32_t* places,
                  const int32_t* segments, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool seen = (places[i] <= query.place) & (segments[i] == query.segment);
    const float score = scores[i] * factor;
    scores[i] = seen ? score : kMasked;
  }
  return largest_of(scores, n);
}

FOR_EACH_PROCESSOR
float weigh(float* scores, float largest, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float score = scores[i];
    const float unmasked = exponential(score - largest);
    const float weight = score == kMasked ? 0.0f : unmasked;
    scores[i] = weight;
    sum += weight;
  }
  return sum;
}

FOR_EACH_PROCESSOR
void weigh_again(float* weights, float factor, const float* log_sums, Seen key,
                 const int32_t* places, const int32_t* segments, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool seen = (key.place <= places[i]) & (key.segment == segments[i]);
    const float weight = exponential(weights[i] * factor - log_sums[i]);
    weights[i] = seen ? weight : 0.0f;
  }
}

FOR_EACH_PROCESSOR
void softmax_gradient(float* of_scores, const float* weights, const float* inner, float factor,
                      int64_t n) {
  for (int64_t i = 0; i < n; ++i) of_scores[i] = weights[i] * (of_scores[i] - inner[i]) * factor;
}

}  // namespace tessera::kernels::rows
