#include "tessera/kernels/matmul_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tessera/base/strings.h"
#include "tessera/ir/host_array.h"
#include "tessera/kernels/processor_testing.h"

namespace tessera::kernels {
namespace {

std::vector<double> doubles(const HostArray& array) { return to_doubles(array); }

HostArray random_array(const Shape& shape, std::mt19937_64& random) {
  std::vector<double> values(shape.elements());
  std::normal_distribution<double> normal;
  for (double& value : values) value = normal(random);
  return from_doubles(shape, values);
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// A dot_general by its letters: one a dim, each of one size.
struct Case {
  std::string lhs, rhs, batch;
  std::map<char, int64_t> sizes;

  Dims dims(const std::string& letters) const {
    Dims result;
    for (char letter : letters) result.push_back(sizes.at(letter));
    return result;
  }
  std::string contracted() const {
    std::string result;
    for (char letter : lhs) {
      if (rhs.find(letter) != std::string::npos && batch.find(letter) == std::string::npos)
        result += letter;
    }
    return result;
  }
  std::string result() const {
    std::string letters = batch;
    for (const std::string* side : {&lhs, &rhs}) {
      for (char letter : *side) {
        const std::string& other = side == &lhs ? rhs : lhs;
        if (other.find(letter) == std::string::npos) letters += letter;
      }
    }
    return letters;
  }
  DotDims dot_dims() const {
    DotDims dims;
    for (char letter : batch) {
      dims.lhs_batch.push_back(static_cast<int64_t>(lhs.find(letter)));
      dims.rhs_batch.push_back(static_cast<int64_t>(rhs.find(letter)));
    }
    for (char letter : contracted()) {
      dims.lhs_contract.push_back(static_cast<int64_t>(lhs.find(letter)));
      dims.rhs_contract.push_back(static_cast<int64_t>(rhs.find(letter)));
    }
    return dims;
  }
};

// The sum over every index, one by one.
std::vector<double> by_hand(const Case& c, const std::vector<double>& a,
                            const std::vector<double>& b) {
  const std::string letters = c.result() + c.contracted();
  const Dims a_strides = strides_of(c.dims(c.lhs)), b_strides = strides_of(c.dims(c.rhs)),
             out_strides = strides_of(c.dims(c.result()));
  int64_t results = 1, all = 1;
  for (char letter : c.result()) results *= c.sizes.at(letter);
  for (char letter : letters) all *= c.sizes.at(letter);
  std::vector<double> out(results);
  for (int64_t index = 0; index < all; ++index) {
    int64_t rest = index, at_a = 0, at_b = 0, at_out = 0;
    for (size_t i = letters.size(); i-- > 0;) {
      const int64_t place = rest % c.sizes.at(letters[i]);
      rest /= c.sizes.at(letters[i]);
      const auto add = [&](const std::string& own, const Dims& strides, int64_t& at) {
        const size_t dim = own.find(letters[i]);
        if (dim != std::string::npos) at += place * strides[dim];
      };
      add(c.lhs, a_strides, at_a);
      add(c.rhs, b_strides, at_b);
      add(c.result(), out_strides, at_out);
    }
    out[at_out] += a[at_a] * b[at_b];
  }
  return out;
}

std::string text_of(const Case& c, DType operands, DType result) {
  std::string text = str_cat(c.lhs, ",", c.rhs, "->", c.result(), " ", dtype_name(operands), "->",
                             dtype_name(result));
  for (const auto& [letter, size] : c.sizes) str_append(&text, " ", std::string(1, letter), size);
  return text;
}

// Letters in a random order, neighbours together or not.
std::string shuffled(std::string letters, std::mt19937_64& random) {
  std::shuffle(letters.begin(), letters.end(), random);
  return letters;
}

Case random_case(std::mt19937_64& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 16, 17, 31, 33, 64, 70};
  Case c;
  const std::string batch = std::string("bc").substr(0, random() % 3),
                    m = std::string("mn").substr(0, random() % 3),
                    n = std::string("xy").substr(0, random() % 3),
                    k = std::string("kl").substr(0, 1 + random() % 2);
  c.batch = shuffled(batch, random);
  c.lhs = random() % 2 ? batch + m + k : shuffled(batch + m + k, random);
  c.rhs = random() % 2 ? batch + n + k : shuffled(batch + n + k, random);
  for (char letter : batch) c.sizes[letter] = kSizes[random() % 4];
  for (char letter : m + n + k) c.sizes[letter] = kSizes[random() % std::size(kSizes)];
  return c;
}

// Above what the registers, a task and a panel's depth hold, and not a multiple of any.
TEST(Matmul, BlocksOfLargeProductsMeetAtTheirEdges) {
  std::mt19937_64 random(8);
  for (const bool turned_a : {false, true}) {
    for (const bool turned_b : {false, true}) {
      for (const DType result : {DType::kF32, DType::kBF16}) {
        const Case c{.lhs = turned_a ? "km" : "mk",
                     .rhs = turned_b ? "nk" : "kn",
                     .batch = "",
                     .sizes = {{'m', 201}, {'n', 331}, {'k', 1601}}};
        SCOPED_TRACE(text_of(c, DType::kBF16, result));
        const Shape lhs{DType::kBF16, c.dims(c.lhs)}, rhs{DType::kBF16, c.dims(c.rhs)};
        const auto plan = plan_matmul({c.dot_dims(), result, Precision::kDefault}, lhs, rhs);
        if (!plan) GTEST_SKIP() << "this machine multiplies no bf16";
        const HostArray a = random_array(lhs, random), b = random_array(rhs, random);
        HostArray out = random_array({result, c.dims(c.result())}, random);
        run_matmul(*plan, 2, a.bytes().data(), b.bytes().data(),
                   const_cast<std::byte*>(out.bytes().data()));
        const std::vector<double> got = doubles(out), x = doubles(a), y = doubles(b);
        const int64_t m = c.sizes.at('m'), n = c.sizes.at('n'), k = c.sizes.at('k');
        const double rounding = result == DType::kBF16 ? 1.0 / 128 : 1e-5;
        for (int64_t row = 0; row < m; row += 1 + row % 3) {
          for (int64_t column = 0; column < n; column += 1 + column % 5) {
            double sum = 0;
            for (int64_t i = 0; i < k; ++i) {
              sum += x[turned_a ? i * m + row : row * k + i] *
                     y[turned_b ? column * k + i : i * n + column];
            }
            ASSERT_NEAR(got[row * n + column], sum, rounding * (std::abs(sum) + 12))
                << "row " << row << ", column " << column;
          }
        }
      }
    }
  }
}

TEST(Matmul, RandomProductsOfAnyTranspositionAreThoseOfASumByHand) {
  std::mt19937_64 random(7);
  int taken = 0;
  for (int i = 0; i < 600; ++i) {
    const Case c = random_case(random);
    const DType operands = random() % 2 ? DType::kBF16 : DType::kF32;
    const DType result = operands == DType::kBF16 && random() % 2 ? DType::kBF16 : DType::kF32;
    const Shape lhs{operands, c.dims(c.lhs)}, rhs{operands, c.dims(c.rhs)};
    double work = 1;
    for (const auto& [letter, size] : c.sizes) work *= static_cast<double>(size);
    if (work > 4e5) continue;
    const auto plan = plan_matmul({c.dot_dims(), result, Precision::kDefault}, lhs, rhs);
    if (!plan) continue;
    ++taken;
    const LimitedProcessor limited(random);
    SCOPED_TRACE(str_cat(text_of(c, operands, result), " ", limited.text()));
    const HostArray a = random_array(lhs, random), b = random_array(rhs, random);
    HostArray out = random_array({result, c.dims(c.result())}, random);
    run_matmul(*plan, 1 + static_cast<int>(random() % 3), a.bytes().data(), b.bytes().data(),
               const_cast<std::byte*>(out.bytes().data()));
    const std::vector<double> got = doubles(out), wanted = by_hand(c, doubles(a), doubles(b));
    int64_t sums = 1;
    for (char letter : c.contracted()) sums *= c.sizes.at(letter);
    const double rounding = result == DType::kBF16 ? 1.0 / 128 : 1e-5;
    for (size_t j = 0; j < wanted.size(); ++j) {
      const double tolerance =
          rounding * (std::abs(wanted[j]) + 0.3 * std::sqrt(static_cast<double>(sums)));
      ASSERT_NEAR(got[j], wanted[j], tolerance) << "element " << j;
    }
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace tessera::kernels
