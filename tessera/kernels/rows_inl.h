// No #pragma once: rows.cc includes this once for each kind of processor, each time in another
// namespace and with other instructions allowed.

// e^x to about 1e-7 for x from -87 to 88, and its ends beyond. Source: e^x = 2^n e^r with n =
// round(x / ln 2), and the Taylor series of e^r for |r| <= ln 2 / 2.
inline __attribute__((always_inline)) float exponential(float x) {
  float clamped = x < -87.0f ? -87.0f : x;
  clamped = clamped > 88.0f ? 88.0f : clamped;
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

inline __attribute__((always_inline)) float load(float x) { return x; }
inline __attribute__((always_inline)) float load(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}
inline __attribute__((always_inline)) void store(float x, float* to) { *to = x; }
// To the nearest bf16, ties to even; a NaN stays one.
inline __attribute__((always_inline)) void store(float x, uint16_t* to) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
  const bool is_nan = (bits & 0x7FFFFFFF) > 0x7F800000;
  *to = static_cast<uint16_t>((is_nan ? bits | 0x400000 : rounded) >> 16);
}

// Whole numbers in the order of floats, and back: their maximum a compiler takes in vectors, which
// it does not where a NaN may be. A NaN is the largest (or, negative, the smallest).
inline __attribute__((always_inline)) int32_t ordered(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
inline __attribute__((always_inline)) float unordered(int32_t x) {
  return std::bit_cast<float>(x ^ ((x >> 31) & 0x7FFFFFFF));
}

template <typename T>
inline __attribute__((always_inline)) float largest_of(const T* x, int64_t n) {
  int32_t largest = ordered(-std::numeric_limits<float>::max());
  for (int64_t i = 0; i < n; ++i) {
    const int32_t value = ordered(load(x[i]));
    largest = largest < value ? value : largest;
  }
  return unordered(largest);
}

inline void widen(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = load(from[i]);
}

inline void narrow(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) store(from[i], to + i);
}

inline void scale(float* x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

template <typename T>
inline float dot(const T* a, const T* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += load(a[i]) * load(b[i]);
  return sum;
}

template <typename T>
inline void rotate(const T* x, const float* cos, const float* sin, bool back, T* out,
                   int64_t half) {
  const float sign = back ? -1.0f : 1.0f;
#pragma GCC ivdep  // out may be x: no pair depends on another
  for (int64_t i = 0; i < half; ++i) {
    const float first = load(x[i]), second = load(x[half + i]), sine = sign * sin[i];
    store(first * cos[i] - second * sine, out + i);
    store(second * cos[i] + first * sine, out + half + i);
  }
}

// tanh in f32; exponential()'s ends make it -1 and 1 far out.
inline __attribute__((always_inline)) float hyperbolic_tangent(float x) {
  return 1.0f - 2.0f / (exponential(2.0f * x) + 1.0f);
}

// Of one query, with factor and mask applied; the largest.
inline float mask_line(const ScoreBlock& block, float factor, int64_t query, float* line) {
  const int32_t place = block.of_queries.places[query], segment = block.of_queries.segments[query];
  const int32_t *places = block.of_keys.places, *segments = block.of_keys.segments;
  const int32_t window = block.rule.window;
  int32_t largest = ordered(kMasked);
  for (int64_t i = 0; i < block.keys; ++i) {
    const bool seen =
        (places[i] <= place) & (place - places[i] < window) & (segments[i] == segment);
    const float scaled = line[i] * factor;
    const float score = seen ? scaled : kMasked;
    const int32_t value = ordered(score);
    line[i] = score;
    largest = largest < value ? value : largest;
  }
  return unordered(largest);
}

inline float weigh_line(float* line, float factor, float largest, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float score = line[i];
    const float unmasked = exponential(score * factor - largest);
    const float weight = score == kMasked ? 0.0f : unmasked;
    line[i] = weight;
    sum += weight;
  }
  return sum;
}

inline void weigh(const ScoreBlock& block, float* scores, int64_t stride,
                  const RunningRows& running) {
  for (int64_t query = 0; query < block.queries; ++query) {
    float* line = scores + query * stride;
    float factor = block.rule.factor, here;
    if (const float cap = block.rule.soft_cap; cap > 0) {
      const float part = factor / cap;
      for (int64_t i = 0; i < block.keys; ++i) line[i] = cap * hyperbolic_tangent(line[i] * part);
      factor = 1.0f;
    }
    if (block.all_seen) {
      here = largest_of(line, block.keys) * factor;
    } else {
      here = mask_line(block, factor, query, line);
      factor = 1.0f;
    }
    const float before = running.largest[query], now = before < here ? here : before;
    if (now > before) {
      const float shrink = std::exp(before - now);
      running.sums[query] *= shrink;
      scale(running.mixed + query * running.width, shrink, running.width);
      running.largest[query] = now;
    }
    running.sums[query] += weigh_line(line, factor, now, block.keys);
  }
}

template <bool kCapped, bool kAllSeen>
inline __attribute__((always_inline)) void gradient_line(const ScoreBlock& block, int64_t key,
                                                         const float* log_sums, const float* inner,
                                                         float* scores, float* of_weights) {
  const ScoreRule rule = block.rule;
  const int32_t place = block.of_keys.places[key], segment = block.of_keys.segments[key];
  const int32_t *places = block.of_queries.places, *segments = block.of_queries.segments;
  for (int64_t i = 0; i < block.queries; ++i) {
    float score = scores[i] * rule.factor, slope = rule.factor;
    if constexpr (kCapped) {
      const float part = hyperbolic_tangent(score / rule.soft_cap);
      score = rule.soft_cap * part;
      slope *= 1.0f - part * part;
    }
    float weight = exponential(score - log_sums[i]);
    if constexpr (!kAllSeen) {
      const bool seen =
          (place <= places[i]) & (places[i] - place < rule.window) & (segment == segments[i]);
      weight = seen ? weight : 0.0f;
    }
    scores[i] = weight;
    of_weights[i] = weight * (of_weights[i] - inner[i]) * slope;
  }
}

inline void attention_gradient(const ScoreBlock& block, const float* log_sums, const float* inner,
                               float* scores, float* of_weights, int64_t stride) {
  for (int64_t key = 0; key < block.keys; ++key) {
    float *line = scores + key * stride, *of_line = of_weights + key * stride;
    if (block.rule.soft_cap > 0) {
      gradient_line<true, false>(block, key, log_sums, inner, line, of_line);
    } else if (block.all_seen) {
      gradient_line<false, true>(block, key, log_sums, inner, line, of_line);
    } else {
      gradient_line<false, false>(block, key, log_sums, inner, line, of_line);
    }
  }
}

template <typename T>
inline void rms_norm(const T* x, const T* scale, float epsilon, T* out, int64_t n) {
  const float inverse = 1 / std::sqrt(dot(x, x, n) / static_cast<float>(n) + epsilon);
  for (int64_t i = 0; i < n; ++i) store(load(x[i]) * inverse * load(scale[i]), out + i);
}

template <typename T>
inline void add(const T* x, const T* y, T* out, int64_t n) {
#pragma GCC ivdep  // out may be x or y: no element depends on another
  for (int64_t i = 0; i < n; ++i) store(load(x[i]) + load(y[i]), out + i);
}

template <typename T>
inline void rms_norm_gradient(const NormRow& row, const T* x, const T* scale, const T* of_norm,
                              const T* of_x, T* x_grad, float* scale_grad) {
  float squares = 0, along = 0;
  for (int64_t i = 0; i < row.n; ++i) {
    squares += load(x[i]) * load(x[i]);
    along += load(of_norm[i]) * load(scale[i]) * load(x[i]);
  }
  const float count = static_cast<float>(row.n);
  const float inverse = 1 / std::sqrt(squares / count + row.epsilon);
  const float back = along * inverse * inverse * inverse / count;
  for (int64_t i = 0; i < row.n; ++i) {
    const float value = load(x[i]), ct = load(of_norm[i]);
    store(load(of_x[i]) + ct * load(scale[i]) * inverse - value * back, x_grad + i);
    scale_grad[i] += ct * value * inverse;
  }
}

// Both gates are x · logistic(y(x)); y and its derivative.
template <Gate kGate>
inline __attribute__((always_inline)) float gate_argument(float x) {
  if constexpr (kGate == Gate::kSilu) return x;
  return 1.5957691216f * (x + 0.044715f * x * x * x);
}
template <Gate kGate>
inline __attribute__((always_inline)) float gate_slope(float x) {
  if constexpr (kGate == Gate::kSilu) return 1.0f;
  return 1.5957691216f * (1.0f + 0.134145f * x * x);
}

template <Gate kGate, typename T>
inline __attribute__((always_inline)) void gate_row(const T* both, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = load(both[i]);
    store(x / (1 + exponential(-gate_argument<kGate>(x))) * load(both[n + i]), out + i);
  }
}

template <Gate kGate, typename T>
inline __attribute__((always_inline)) void gate_row_gradient(const T* both, const T* cotangent,
                                                             T* both_grad, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float x = load(both[i]), up = load(both[n + i]), ct = load(cotangent[i]);
    const float logistic = 1 / (1 + exponential(-gate_argument<kGate>(x)));
    store(ct * x * logistic, both_grad + n + i);
    store(ct * up * logistic * (1 + x * (1 - logistic) * gate_slope<kGate>(x)), both_grad + i);
  }
}

template <typename T>
inline void gated(Gate gate, const T* both, T* out, int64_t n) {
  if (gate == Gate::kSilu) {
    gate_row<Gate::kSilu>(both, out, n);
  } else {
    gate_row<Gate::kGelu>(both, out, n);
  }
}

template <typename T>
inline void gated_gradient(Gate gate, const T* both, const T* cotangent, T* both_grad, int64_t n) {
  if (gate == Gate::kSilu) {
    gate_row_gradient<Gate::kSilu>(both, cotangent, both_grad, n);
  } else {
    gate_row_gradient<Gate::kGelu>(both, cotangent, both_grad, n);
  }
}

template <typename T>
inline float log_sum_exp(const T* x, int64_t n) {
  const float largest = largest_of(x, n);
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += exponential(load(x[i]) - largest);
  return largest + std::log(sum);
}

template <typename T>
inline float value_at(const T* x, int64_t i) {
  return load(x[i]);
}

template <typename T>
inline void token_gradient(const Token& token, const T* logits, T* grad, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    store(exponential(load(logits[i]) - token.log_sum) * token.of_log_sum, grad + i);
  if (token.target < 0 || token.target >= n) return;
  const float weight = exponential(load(logits[token.target]) - token.log_sum);
  store(weight * token.of_log_sum + token.of_target, grad + token.target);
}

template <typename T>
inline void adamw(const AdamwStep& step, const T* grad, const Moments<const float>& from,
                  const Moments<float>& to, int64_t n) {
#pragma GCC ivdep  // the new values may stand where the old ones do
  for (int64_t i = 0; i < n; ++i) {
    const float g = load(grad[i]) * step.grad_factor;
    const float m = from.mu[i] * step.b1 + g * (1 - step.b1);
    const float v = from.nu[i] * step.b2 + g * g * (1 - step.b2);
    const float change = (m * step.mu_factor) / (std::sqrt(v * step.nu_factor) + step.epsilon);
    const float old = from.param[i];
    to.mu[i] = m;
    to.nu[i] = v;
    to.param[i] = old - step.learning_rate * (change + step.weight_decay * old);
  }
}
