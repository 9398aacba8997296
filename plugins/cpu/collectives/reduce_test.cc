#include "plugins/cpu/collectives/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "plugins/cpu/collectives/failure.h"

namespace tessera::pjrt_cpu {
namespace {

template <typename T>
std::vector<T> reduced(Element element, Reduction reduction, std::vector<std::vector<T>> inputs) {
  std::vector<const void*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  std::vector<T> out(inputs[0].size());
  reduce(element, reduction, pointers, out.data(), out.size());
  return out;
}

template <typename T>
void check_integers(Element element) {
  const T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const std::vector<std::vector<T>> in = {{6, 5, least, most}, {3, 7, most, 1}, {2, 1, 0, 0}};
  using V = std::vector<T>;
  EXPECT_EQ(reduced<T>(element, Reduction::kSum, in),
            (V{11, 13, static_cast<T>(least + most), least}));  // wraps
  EXPECT_EQ(reduced<T>(element, Reduction::kProduct, in), (V{36, 35, 0, 0}));
  EXPECT_EQ(reduced<T>(element, Reduction::kMin, in), (V{2, 1, least, 0}));
  EXPECT_EQ(reduced<T>(element, Reduction::kMax, in), (V{6, 7, most, most}));
  EXPECT_EQ(reduced<T>(element, Reduction::kAnd, in), (V{2, 1, 0, 0}));
  EXPECT_EQ(reduced<T>(element, Reduction::kOr, in),
            (V{7, 7, static_cast<T>(least | most), static_cast<T>(most | 1)}));
}

TEST(Reduce, IntegersWrapAroundAndHaveEveryOperation) {
  check_integers<int8_t>(Element::kS8);
  check_integers<int16_t>(Element::kS16);
  check_integers<int32_t>(Element::kS32);
  check_integers<int64_t>(Element::kS64);
  check_integers<uint8_t>(Element::kU8);
  check_integers<uint16_t>(Element::kU16);
  check_integers<uint32_t>(Element::kU32);
  check_integers<uint64_t>(Element::kU64);
  const std::vector<std::vector<uint16_t>> large = {{65535}, {65535}};  // overflows an int
  EXPECT_EQ(reduced<uint16_t>(Element::kU16, Reduction::kProduct, large)[0], 1);
}

TEST(Reduce, TruthValues) {
  const std::vector<std::vector<uint8_t>> in = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  const std::vector<uint8_t> both = {0, 0, 0, 1}, either = {0, 1, 1, 1};
  for (const Reduction r : {Reduction::kAnd, Reduction::kMin, Reduction::kProduct})
    EXPECT_EQ(reduced<uint8_t>(Element::kPred, r, in), both);
  for (const Reduction r : {Reduction::kOr, Reduction::kMax, Reduction::kSum})
    EXPECT_EQ(reduced<uint8_t>(Element::kPred, r, in), either);
}

template <typename T>
void check_reals(Element element) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<std::vector<T>> in = {{1.5, -2, nan, 1, nan}, {2.5, 8, 1, nan, nan}};
  EXPECT_EQ(reduced<T>(element, Reduction::kSum, in)[0], T{4});
  EXPECT_EQ(reduced<T>(element, Reduction::kProduct, in)[1], T{-16});
  EXPECT_EQ(reduced<T>(element, Reduction::kMin, in)[1], T{-2});
  EXPECT_EQ(reduced<T>(element, Reduction::kMax, in)[1], T{8});
  for (const Reduction r :
       {Reduction::kMin, Reduction::kMax, Reduction::kSum, Reduction::kProduct}) {
    for (int i : {2, 3, 4}) EXPECT_TRUE(std::isnan(reduced<T>(element, r, in)[i]));
  }
  EXPECT_THROW(reduced<T>(element, Reduction::kAnd, in), Failure);
}

TEST(Reduce, RealNumbersPassNanOn) {
  check_reals<float>(Element::kF32);
  check_reals<double>(Element::kF64);
}

TEST(Reduce, ComplexNumbersHaveSumAndProduct) {
  using C = std::complex<float>;
  const std::vector<std::vector<C>> in = {{{1, 2}}, {{3, -1}}};
  EXPECT_EQ(reduced<C>(Element::kC64, Reduction::kSum, in)[0], C(4, 1));
  EXPECT_EQ(reduced<C>(Element::kC64, Reduction::kProduct, in)[0], C(5, 5));
  EXPECT_THROW(reduced<C>(Element::kC64, Reduction::kMax, in), Failure);
  using D = std::complex<double>;
  EXPECT_EQ(reduced<D>(Element::kC128, Reduction::kSum, {{{1, 2}}, {{3, 4}}})[0], D(4, 6));
}

uint16_t bf16(float value) {  // of one that is exact
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

TEST(Reduce, Bf16IsSummedInF32AndRoundedOnceToEven) {
  // 256 + 1 is 257, which bf16 would round to 256 at each step.
  const std::vector<std::vector<uint16_t>> in = {{bf16(256)}, {bf16(1)}, {bf16(1)}};
  EXPECT_EQ(reduced<uint16_t>(Element::kBF16, Reduction::kSum, in)[0], bf16(258));
  const auto sum = [](float a, float b) {
    return reduced<uint16_t>(Element::kBF16, Reduction::kSum, {{bf16(a)}, {bf16(b)}})[0];
  };
  EXPECT_EQ(sum(256, 1), bf16(256));  // halfway, to even
  EXPECT_EQ(sum(258, 1), bf16(260));  // halfway, to even
  EXPECT_EQ(sum(INFINITY, 1), bf16(INFINITY));
  const uint16_t nan = sum(INFINITY, -INFINITY);
  EXPECT_EQ(nan & 0x7F80, 0x7F80);
  EXPECT_NE(nan & 0x7F, 0);
}

TEST(Reduce, F16IsSummedInF32AndRoundedOnceToEven) {
  const auto sum = [](std::vector<uint16_t> values) {
    std::vector<std::vector<uint16_t>> in;
    for (uint16_t value : values) in.push_back({value});
    return reduced<uint16_t>(Element::kF16, Reduction::kSum, in)[0];
  };
  constexpr uint16_t kOne = 0x3C00, k2048 = 0x6800, k2050 = 0x6801, kMost = 0x7BFF, kInf = 0x7C00;
  EXPECT_EQ(sum({k2048, kOne, kOne}), k2050);  // 2049 would round back to 2048
  EXPECT_EQ(sum({k2048, kOne}), k2048);        // halfway, to even
  EXPECT_EQ(sum({k2050, kOne}), 0x6802);
  EXPECT_EQ(sum({kMost, kMost}), kInf);
  EXPECT_EQ(sum({kMost, 0x4C00}), kInf);   // 65504 + 16 is halfway to 65536
  EXPECT_EQ(sum({kMost, 0x4B80}), kMost);  // + 15 is not
  EXPECT_EQ(sum({1, 1}), 2);               // subnormal
  EXPECT_EQ(sum({0x03FF, 1}), 0x0400);     // to the smallest normal
  EXPECT_EQ(sum({0x8001, 0x8000}), 0x8001);
  EXPECT_EQ(sum({0x8000, 0x8000}), 0x8000);  // minus zero
  EXPECT_EQ(sum({kInf, kOne}), kInf);
  EXPECT_GT(sum({kInf, 0xFC00}) & 0x7FFF, 0x7C00);   // not a number
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {  // every number plus minus zero is itself
    const uint16_t value = static_cast<uint16_t>(bits);
    if ((value & 0x7FFF) > 0x7C00) continue;
    ASSERT_EQ(sum({value, 0x8000}), value);
  }
}

TEST(Reduce, TheOutputMayBeAnInputAndAnyCountWorks) {
  for (size_t count : {0, 1, 1023, 1024, 1025, 5000}) {
    std::vector<int32_t> a(count, 3), b(count, 4);
    const void* inputs[] = {a.data(), b.data()};
    reduce(Element::kS32, Reduction::kSum, inputs, b.data(), count);
    EXPECT_EQ(b, std::vector<int32_t>(count, 7));
  }
}

}  // namespace
}  // namespace tessera::pjrt_cpu
