#include "tessera/kernels/attention_core.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tessera/base/strings.h"
#include "tessera/ir/host_array.h"
#include "tessera/kernels/processor_testing.h"

namespace tessera::kernels {
namespace {

using Doubles = std::vector<double>;

HostArray random_array(const Shape& shape, std::mt19937_64& random) {
  Doubles values(shape.elements());
  std::normal_distribution<double> normal;
  for (double& value : values) value = normal(random);
  return from_doubles(shape, values);
}

// Turns each head of x [B,rows,heads,C], or turns it back.
Doubles turned(Doubles x, const RotaryAngles& angles, const Dims& dims, bool back) {
  if (angles.cos == nullptr) return x;
  const int64_t c = dims[3], half = c / 2;
  for (int64_t i = 0; i * c < static_cast<int64_t>(x.size()); ++i) {
    const int64_t b = i / (dims[1] * dims[2]), position = i / dims[2] % dims[1];
    for (int64_t j = 0; j < half; ++j) {
      const int64_t at = b * angles.batch + position * half + j;
      const double cos = angles.cos[at], sin = back ? -angles.sin[at] : angles.sin[at];
      double &first = x[i * c + j], &second = x[i * c + half + j];
      const double before = first;
      first = before * cos - second * sin;
      second = second * cos + before * sin;
    }
  }
  return x;
}

/// Attention by its definition, in f64, and its gradients by the chain rule, score by score.
struct ByHand {
  Doubles out, q_grad, k_grad, v_grad;

  ByHand(const AttentionProblem& p, const Doubles& raw_q, const Doubles& raw_k, const Doubles& v,
         const Doubles& cotangent)
      : out(raw_q.size()), q_grad(raw_q.size()), k_grad(raw_k.size()), v_grad(v.size()) {
    const Dims of_queries = {p.b, p.t, p.h, p.c}, of_keys = {p.b, p.s, p.k, p.c};
    const Doubles q = turned(raw_q, p.rotary_t, of_queries, false);
    const Doubles k = turned(raw_k, p.rotary_s, of_keys, false);
    const double factor = 1 / std::sqrt(static_cast<double>(p.c));
    for (int64_t b = 0; b < p.b; ++b) {
      for (int64_t h = 0; h < p.h; ++h) {
        for (int64_t t = 0; t < p.t; ++t) {
          const int64_t at_q = ((b * p.t + t) * p.h + h) * p.c;
          const auto at_k = [&](int64_t s) {
            return ((b * p.s + s) * p.k + h / (p.h / p.k)) * p.c;
          };
          Doubles weights(p.s), slopes(p.s, factor);
          double sum = 0, largest = -1e300;
          for (int64_t s = 0; s < p.s; ++s) {
            weights[s] = -1e300;
            if (p.places_s[s] > p.places_t[t] || p.places_t[t] - p.places_s[s] >= p.window ||
                p.segments_bs[b * p.s + s] != p.segments_bt[b * p.t + t])
              continue;
            weights[s] = 0;
            for (int64_t c = 0; c < p.c; ++c) weights[s] += q[at_q + c] * k[at_k(s) + c] * factor;
            if (p.soft_cap > 0) {
              const double part = std::tanh(weights[s] / p.soft_cap);
              weights[s] = p.soft_cap * part;
              slopes[s] *= 1 - part * part;
            }
            largest = std::max(largest, weights[s]);
          }
          for (double& weight : weights) {
            weight = weight == -1e300 ? 0 : std::exp(weight - largest);
            sum += weight;
          }
          double inner = 0;
          Doubles of_weights(p.s);
          for (int64_t s = 0; s < p.s; ++s) {
            if (sum > 0) weights[s] /= sum;
            for (int64_t c = 0; c < p.c; ++c) {
              out[at_q + c] += weights[s] * v[at_k(s) + c];
              of_weights[s] += cotangent[at_q + c] * v[at_k(s) + c];
              v_grad[at_k(s) + c] += weights[s] * cotangent[at_q + c];
            }
            inner += weights[s] * of_weights[s];
          }
          for (int64_t s = 0; s < p.s; ++s) {
            const double of_score = weights[s] * (of_weights[s] - inner) * slopes[s];
            for (int64_t c = 0; c < p.c; ++c) {
              q_grad[at_q + c] += of_score * k[at_k(s) + c];
              k_grad[at_k(s) + c] += of_score * q[at_q + c];
            }
          }
        }
      }
    }
    q_grad = turned(q_grad, p.rotary_t, of_queries, true);
    k_grad = turned(k_grad, p.rotary_s, of_keys, true);
  }
};

// The largest difference, in parts of the largest value.
void expect_near(const HostArray& got_array, const Doubles& wanted, double tolerance,
                 const char* what) {
  const Doubles got = to_doubles(got_array);
  ASSERT_EQ(got.size(), wanted.size());
  double largest = 1, worst = 0;  // of one: what cancels out leaves its rounding
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i])) << what << " " << i;
    largest = std::max(largest, std::abs(wanted[i]));
    worst = std::max(worst, std::abs(got[i] - wanted[i]));
  }
  EXPECT_LE(worst, tolerance * largest) << what;
}

void* data_of(HostArray& array) { return const_cast<std::byte*>(array.bytes().data()); }

TEST(Attention, ResultsAndGradientsOfRandomProblemsAreThoseOfItsDefinition) {
  std::mt19937_64 random(3);
  const auto one_of = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  for (int i = 0; i < 500; ++i) {
    AttentionProblem p;
    p.b = one_of({0, 1, 2, 3});
    p.t = one_of({1, 2, 7, 16, 33, 64, 65, 129, 140});
    p.s = random() % 4 ? p.t : one_of({1, 5, 64, 150});
    p.k = one_of({1, 2, 3});
    p.h = p.k * one_of({1, 2, 4});
    p.c = one_of({1, 2, 7, 8, 24, 64});
    p.dtype = random() % 2 ? DType::kBF16 : DType::kF32;
    std::vector<int32_t> places_t(p.t), places_s(p.s), segments_t(p.b * p.t), segments_s(p.b * p.s);
    const bool shuffled = random() % 4 == 0, segmented = random() % 2, blind = random() % 5 == 0;
    for (int64_t t = 0; t < p.t; ++t) places_t[t] = static_cast<int32_t>(t);
    for (int64_t s = 0; s < p.s; ++s) places_s[s] = static_cast<int32_t>(s);
    if (shuffled) {
      std::shuffle(places_t.begin(), places_t.end(), random);
      std::shuffle(places_s.begin(), places_s.end(), random);
    }
    if (segmented) {
      for (auto* segments : {&segments_t, &segments_s}) {
        const int64_t columns = segments == &segments_t ? p.t : p.s;
        for (size_t j = 0; j < segments->size(); ++j)
          (*segments)[j] = static_cast<int32_t>(static_cast<int64_t>(j) % columns / 11);
      }
    }
    if (blind && p.b > 0)  // a row of the batch whose queries see nothing
      std::fill_n(segments_t.begin(), p.t, -1);
    p.places_t = places_t.data();
    p.places_s = places_s.data();
    p.segments_bt = segments_t.data();
    p.segments_bs = segments_s.data();
    if (random() % 3 == 0) p.window = static_cast<int32_t>(one_of({1, 3, 40, 100}));
    if (random() % 3 == 0) p.soft_cap = 1.5;
    // The same angles for all rows of the batch, or each its own.
    const bool rotates = p.c % 2 == 0 && random() % 2, alike = random() % 2;
    std::vector<float> cos_t, sin_t, cos_s, sin_s;
    const auto angles = [&](int64_t rows, std::vector<float>& cos, std::vector<float>& sin) {
      if (!rotates) return RotaryAngles();
      const int64_t one = rows * p.c / 2;
      for (int64_t j = 0; j < (alike ? 1 : p.b) * one; ++j) {
        const auto angle = static_cast<float>(random() % 1000);
        cos.push_back(std::cos(angle));
        sin.push_back(std::sin(angle));
      }
      return RotaryAngles{cos.data(), sin.data(), alike ? 0 : one};
    };
    p.rotary_t = angles(p.t, cos_t, sin_t);
    p.rotary_s = angles(p.s, cos_s, sin_s);
    const LimitedProcessor limited(random);
    SCOPED_TRACE(str_cat(limited.text(), " b", p.b, " t", p.t, " s", p.s, " h", p.h, " k", p.k,
                         " c", p.c, " ", dtype_name(p.dtype), " shuffled ", shuffled, " segmented ",
                         segmented, " blind ", blind, " window ", p.window, " cap ", p.soft_cap,
                         " rotates ", rotates, " alike ", alike));
    const Shape of_queries{p.dtype, {p.b, p.t, p.h, p.c}}, of_keys{p.dtype, {p.b, p.s, p.k, p.c}};
    const HostArray q = random_array(of_queries, random), k = random_array(of_keys, random),
                    v = random_array(of_keys, random), ct = random_array(of_queries, random);
    HostArray out = random_array(of_queries, random), q_grad = random_array(of_queries, random),
              k_grad = random_array(of_keys, random), v_grad = random_array(of_keys, random);
    std::vector<float> log_sums(p.b * p.h * p.t);
    const int threads = 1 + static_cast<int>(random() % 3);
    attention_forward(p, threads, q.bytes().data(), k.bytes().data(), v.bytes().data(),
                      data_of(out), log_sums.data());
    attention_backward(p, threads,
                       {.q = q.bytes().data(),
                        .k = k.bytes().data(),
                        .v = v.bytes().data(),
                        .out = out.bytes().data(),
                        .log_sums = log_sums.data(),
                        .cotangent = ct.bytes().data(),
                        .q_grad = data_of(q_grad),
                        .k_grad = data_of(k_grad),
                        .v_grad = data_of(v_grad)});
    const ByHand wanted(p, to_doubles(q), to_doubles(k), to_doubles(v), to_doubles(ct));
    // Where products are of bf16, weights and the gradients of scores are rounded to it too.
    const double tolerance = p.dtype == DType::kBF16 ? 1.0 / 50 : 1e-5;
    expect_near(out, wanted.out, tolerance, "out");
    expect_near(q_grad, wanted.q_grad, tolerance, "q_grad");
    expect_near(k_grad, wanted.k_grad, tolerance, "k_grad");
    expect_near(v_grad, wanted.v_grad, tolerance, "v_grad");
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::kernels
