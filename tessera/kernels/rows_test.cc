#include "tessera/kernels/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tessera/ir/host_array.h"
#include "tessera/kernels/processor_testing.h"

// Each loop against plain ones in f64, gradients against differences of those, over random sizes,
// dtypes and kinds of processor.

namespace tessera::kernels {
namespace {

using Doubles = std::vector<double>;

/// A row in a loop's type, and the same numbers in f64.
template <typename T>
struct Row {
  HostArray array;

  static Row of(const Doubles& values) {
    constexpr DType kType = std::is_same_v<T, float> ? DType::kF32 : DType::kBF16;
    return {from_doubles({kType, {static_cast<int64_t>(values.size())}}, values)};
  }
  static Row random(int64_t n, std::mt19937_64& random, double spread = 1) {
    std::normal_distribution<double> normal(0, spread);
    Doubles values(n);
    for (double& value : values) value = normal(random);
    return of(values);
  }
  const T* data() const { return reinterpret_cast<const T*>(array.bytes().data()); }
  T* data() { return const_cast<T*>(std::as_const(*this).data()); }
  Doubles values() const { return to_doubles(array); }
};

/// Runs `body` with each type at 500 random sizes, each on a random kind of processor.
template <typename Body>
void for_random_rows(const Body& body) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 500; ++i) {
    constexpr int64_t kSizes[] = {1, 2, 3, 15, 16, 17, 31, 33, 64, 100};
    const int64_t n = kSizes[random() % std::size(kSizes)];
    const LimitedProcessor limited(random);
    const bool is_bf16 = random() % 2;
    SCOPED_TRACE(str_cat(n, is_bf16 ? " bf16 " : " f32 ", limited.text()));
    if (is_bf16) {
      body(static_cast<uint16_t*>(nullptr), n, random);
    } else {
      body(static_cast<float*>(nullptr), n, random);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Differences in parts of the largest value, or of 1.
template <typename T>
void expect_near(const Doubles& got, const Doubles& wanted, const char* what) {
  ASSERT_EQ(got.size(), wanted.size());
  double largest = 1;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  const double tolerance = largest * (std::is_same_v<T, float> ? 1e-5 : 1.0 / 200);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], tolerance) << what << i;
}

// The gradient of f at x, by differences.
Doubles gradient_of(const std::function<double(const Doubles&)>& f, Doubles x) {
  constexpr double kStep = 1e-4;
  Doubles grads;
  for (double& value : x) {
    const double at = value;
    const auto moved = [&](double by) {
      value = at + by * kStep;
      return f(x);
    };
    grads.push_back((8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * kStep));
    value = at;
  }
  return grads;
}

double dot(const Doubles& a, const Doubles& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

constexpr double kEpsilon = 1e-3;
Doubles rms_norm(const Doubles& x, const Doubles& scale) {
  const double inverse = 1 / std::sqrt(dot(x, x) / static_cast<double>(x.size()) + kEpsilon);
  Doubles out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * inverse * scale[i]);
  return out;
}

TEST(Rows, RmsNormAndItsGradients) {
  for_random_rows([]<typename T>(T*, int64_t n, std::mt19937_64& random) {
    const auto x = Row<T>::random(n, random), scale = Row<T>::random(n, random),
               ct = Row<T>::random(n, random), of_x = Row<T>::random(n, random);
    auto out = Row<T>::random(n, random), x_grad = Row<T>::random(n, random);
    rows::rms_norm(x.data(), scale.data(), static_cast<float>(kEpsilon), out.data(), n);
    expect_near<T>(out.values(), rms_norm(x.values(), scale.values()), "out ");
    auto scale_grad = Row<float>::random(n, random);
    const Doubles before = scale_grad.values();
    rows::rms_norm_gradient({static_cast<float>(kEpsilon), n}, x.data(), scale.data(), ct.data(),
                            of_x.data(), x_grad.data(), scale_grad.data());
    Doubles by_x = gradient_of(
        [&](const Doubles& at) { return dot(ct.values(), rms_norm(at, scale.values())); },
        x.values());
    Doubles by_scale =
        gradient_of([&](const Doubles& at) { return dot(ct.values(), rms_norm(x.values(), at)); },
                    scale.values());
    for (int64_t i = 0; i < n; ++i) {
      by_x[i] += of_x.values()[i];
      by_scale[i] += before[i];
    }
    expect_near<T>(x_grad.values(), by_x, "x ");
    expect_near<float>(scale_grad.values(), by_scale, "scale ");
  });
}

// act(gate) · up of [gate | up].
Doubles gated(rows::Gate kind, const Doubles& both) {
  const size_t n = both.size() / 2;
  Doubles out;
  for (size_t i = 0; i < n; ++i) {
    const double x = both[i];
    const double part = kind == rows::Gate::kSilu
                            ? 1 / (1 + std::exp(-x))
                            : (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
    out.push_back(x * part * both[n + i]);
  }
  return out;
}

TEST(Rows, GatesAndTheirGradients) {
  for_random_rows([]<typename T>(T*, int64_t n, std::mt19937_64& random) {
    const rows::Gate kind = random() % 2 ? rows::Gate::kSilu : rows::Gate::kGelu;
    const auto both = Row<T>::random(2 * n, random, random() % 4 ? 1 : 60),
               ct = Row<T>::random(n, random);
    auto out = Row<T>::random(n, random), grad = Row<T>::random(2 * n, random);
    rows::gated(kind, both.data(), out.data(), n);
    expect_near<T>(out.values(), gated(kind, both.values()), "out ");
    rows::gated_gradient(kind, both.data(), ct.data(), grad.data(), n);
    expect_near<T>(grad.values(),
                   gradient_of([&](const Doubles& at) { return dot(ct.values(), gated(kind, at)); },
                               both.values()),
                   "grad ");
  });
}

double log_sum_exp(const Doubles& x) {
  const double largest = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (const double value : x) sum += std::exp(value - largest);
  return largest + std::log(sum);
}

TEST(Rows, LogSumExpAndTheGradientOfATokensLogits) {
  for_random_rows([]<typename T>(T*, int64_t n, std::mt19937_64& random) {
    const auto logits = Row<T>::random(n, random, random() % 4 ? 1 : 100);
    auto grad = Row<T>::random(n, random);
    const Doubles x = logits.values();
    const float log_sum = rows::log_sum_exp(logits.data(), n);
    EXPECT_NEAR(log_sum, log_sum_exp(x), 1e-5 * std::max(1.0, std::abs(log_sum_exp(x))));
    // A target that is no class: only log(Z) has a gradient.
    const auto target = static_cast<int32_t>(static_cast<int64_t>(random() % (n + 2)) - 1);
    const float of_log_sum = 0.7f, of_target = -1.3f;
    rows::token_gradient({log_sum, of_log_sum, of_target, target}, logits.data(), grad.data(), n);
    Doubles wanted(n);
    for (int64_t i = 0; i < n; ++i) {
      wanted[i] = of_log_sum * std::exp(x[i] - log_sum_exp(x));
      if (i == target) wanted[i] += of_target;
    }
    expect_near<T>(grad.values(), wanted, "grad ");
  });
}

TEST(Rows, ABadNumberShows) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 30; ++i) {
    const LimitedProcessor limited(random);
    auto row = Row<float>::random(40, random);
    row.data()[random() % 40] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(rows::log_sum_exp(row.data(), 40)));
    EXPECT_TRUE(std::isnan(rows::dot(row.data(), row.data(), 40)));
    auto narrowed = Row<uint16_t>::random(40, random);
    rows::narrow(row.data(), narrowed.data(), 40);
    EXPECT_TRUE(std::isnan(dot(narrowed.values(), narrowed.values())));
    auto out = Row<float>::random(20, random);
    rows::gated(rows::Gate::kSilu, row.data(), out.data(), 20);
    EXPECT_TRUE(std::isnan(dot(out.values(), out.values())));
  }
}

TEST(Rows, AdamwInPlaceAndAside) {
  for_random_rows([]<typename T>(T*, int64_t n, std::mt19937_64& random) {
    const auto grad = Row<T>::random(n, random);
    auto param = Row<float>::random(n, random), mu = Row<float>::random(n, random),
         nu = Row<float>::random(n, random), aside = Row<float>::random(n, random),
         aside_mu = aside, aside_nu = aside;
    for (int64_t i = 0; i < n; ++i) nu.data()[i] = std::abs(nu.data()[i]);
    const Doubles p = param.values(), m = mu.values(), v = nu.values(), g = grad.values();
    const rows::AdamwStep step{.b1 = 0.9f,
                               .b2 = 0.95f,
                               .epsilon = 1e-3f,
                               .weight_decay = 0.1f,
                               .learning_rate = 0.01f,
                               .mu_factor = 2,
                               .nu_factor = 3,
                               .grad_factor = 0.5f};
    const rows::Moments<const float> from{param.data(), mu.data(), nu.data()};
    rows::adamw(step, grad.data(), from, {aside.data(), aside_mu.data(), aside_nu.data()}, n);
    rows::adamw(step, grad.data(), from, {param.data(), mu.data(), nu.data()}, n);
    Doubles new_p(n), new_m(n), new_v(n);
    for (int64_t i = 0; i < n; ++i) {
      new_m[i] = 0.9 * m[i] + 0.1 * 0.5 * g[i];
      new_v[i] = 0.95 * v[i] + 0.05 * 0.25 * g[i] * g[i];
      new_p[i] = p[i] - 0.01 * (2 * new_m[i] / (std::sqrt(3 * new_v[i]) + 1e-3) + 0.1 * p[i]);
    }
    expect_near<float>(param.values(), new_p, "param ");
    expect_near<float>(mu.values(), new_m, "mu ");
    expect_near<float>(nu.values(), new_v, "nu ");
    EXPECT_EQ(aside.values(), param.values());
    EXPECT_EQ(aside_mu.values(), mu.values());
    EXPECT_EQ(aside_nu.values(), nu.values());
  });
}

}  // namespace
}  // namespace tessera::kernels
