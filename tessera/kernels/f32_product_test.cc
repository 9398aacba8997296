#include "tessera/kernels/f32_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tessera/base/strings.h"
#include "tessera/kernels/f32_blocks.h"
#include "tessera/kernels/processor_testing.h"

namespace tessera::kernels {
namespace {

std::vector<float> random_floats(int64_t size, std::mt19937_64& random) {
  std::vector<float> values(size);
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
  return values;
}

/// A product and, for its edges, room behind each row or column.
Product random_product(std::mt19937_64& random) {
  constexpr int64_t kSizes[] = {1, 2, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 70, 130};
  const auto size = [&] { return kSizes[random() % std::size(kSizes)]; };
  const auto room = [&] { return static_cast<int64_t>(random() % 3); };
  Product p{.m = size(), .n = size(), .k = size(), .accumulate = random() % 2 == 0};
  // Now and then what is cut: many rows, columns, or steps.
  if (random() % 8 == 0) (random() % 2 ? p.m : p.n) = 390 + static_cast<int64_t>(random() % 150);
  if (random() % 8 == 0) p.k = 500 + static_cast<int64_t>(random() % 700);
  p.a_m = 1, p.a_k = p.m + room();
  if (random() % 2) p.a_m = p.k + room(), p.a_k = 1;
  p.b_k = 1, p.b_n = p.k + room();
  if (random() % 2) p.b_k = p.n + room(), p.b_n = 1;
  p.c_m = p.n + room();
  return p;
}

std::string text_of(const Product& p) {
  return str_cat("m ", p.m, " n ", p.n, " k ", p.k, " a ", p.a_m, ",", p.a_k, " b ", p.b_k, ",",
                 p.b_n, " c ", p.c_m, p.accumulate ? " accumulated" : "");
}

// All of c, what lies between its rows too.
std::vector<double> by_hand(const Product& p, const std::vector<float>& a,
                            const std::vector<float>& b, const std::vector<float>& c) {
  std::vector<double> out(c.begin(), c.end());
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = p.accumulate ? c[i * p.c_m + j] : 0;
      for (int64_t k = 0; k < p.k; ++k)
        sum += static_cast<double>(a[i * p.a_m + k * p.a_k]) * b[k * p.b_k + j * p.b_n];
      out[i * p.c_m + j] = sum;
    }
  }
  return out;
}

void expect_near(const std::vector<float>& got, const std::vector<double>& wanted, int64_t k) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double tolerance = 1e-5 * (std::abs(wanted[i]) + 0.3 * std::sqrt(static_cast<double>(k)));
    ASSERT_NEAR(got[i], wanted[i], tolerance) << "element " << i;
  }
}

// Just what a view reaches, so that a sanitizer sees what is read beyond it.
int64_t extent(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  return (rows - 1) * row + (columns - 1) * column + 1;
}

TEST(F32Product, RandomSizesAndStridesGiveTheSumsByHandOnEveryProcessor) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 500; ++i) {
    const Product p = random_product(random);
    const LimitedProcessor limited(random);
    if (processor() < Processor::kAvx2) continue;
    SCOPED_TRACE(str_cat(text_of(p), " ", limited.text()));
    const std::vector<float> a = random_floats(extent(p.m, p.k, p.a_m, p.a_k), random),
                             b = random_floats(extent(p.k, p.n, p.b_k, p.b_n), random);
    std::vector<float> c = random_floats(extent(p.m, p.n, p.c_m, 1), random);
    const std::vector<double> wanted = by_hand(p, a, b, c);
    multiply_f32(p, 1 + static_cast<int>(random() % 3), a.data(), b.data(), c.data());
    expect_near(c, wanted, p.k);
  }
}

// As attention uses them: a matrix packed whole, and some of its panels multiplied.
TEST(F32Blocks, PanelsOfAMatrixPackedWholeAreMultipliedByThemselves) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 50; ++i) {
    const LimitedProcessor limited(random);
    const int64_t k = 1 + static_cast<int64_t>(random() % 1300), m = 1 + k % 70;
    const int64_t columns = 65 + static_cast<int64_t>(random() % 130);
    SCOPED_TRACE(str_cat(m, " x ", columns, " x ", k, " ", limited.text()));
    Product p{.m = m, .n = columns, .k = k, .a_m = k, .a_k = 1, .b_k = 2 * columns, .b_n = 2};
    p.c_m = columns;
    const std::vector<float> a = random_floats(m * k, random),
                             b = random_floats(k * columns * 2, random);
    std::vector<float> c(m * columns);
    const std::vector<double> wanted = by_hand(p, a, b, c);
    auto* packed = scratch_of<float>(ScratchPlace::kPacked, f32::packed_size(k, columns));
    f32::pack({b.data(), k, columns, p.b_k, p.b_n}, packed);
    for (int64_t panel = 0; panel < panels_of(columns); ++panel) {
      const int64_t first = panel * kPanel;
      f32::multiply({.m = m, .n = std::min(kPanel, columns - first), .k = k}, {a.data(), k, 1},
                    packed, {c.data() + first, columns}, panel);
    }
    expect_near(c, wanted, k);
  }
}

}  // namespace
}  // namespace tessera::kernels
