#include "tessera/ir/host_array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

uint64_t bits_of(DType dtype, double value) {
  const HostArray array = from_doubles({dtype, {}}, std::span(&value, 1));
  uint64_t bits = 0;
  std::memcpy(&bits, array.bytes().data(), array.bytes().size());
  return bits;
}

double value_of(DType dtype, uint64_t bits) {
  HostArray array(Shape{dtype, {}});
  std::memcpy(array.bytes().data(), &bits, array.bytes().size());
  return to_doubles(array)[0];
}

struct Rounding {
  double value;
  uint64_t bits;
};

void expect_bits(DType dtype, std::initializer_list<Rounding> cases) {
  for (const Rounding& c : cases) {
    EXPECT_EQ(bits_of(dtype, c.value), c.bits) << dtype_name(dtype) << " of " << c.value;
  }
}

TEST(HostArray, RoundsToF8E4M3FN) {
  expect_bits(DType::kF8E4M3FN, {
                                    {0, 0x00},
                                    {-0.0, 0x80},
                                    {1, 0x38},
                                    {-1.125, 0xB9},
                                    {448, 0x7E},  // the largest
                                    {464, 0x7E},  // half way to where 480 would be: to even
                                    {std::nextafter(464, 500), 0x7F},
                                    {1e9, 0x7F},  // no infinity: NaN
                                    {kInfinity, 0x7F},
                                    {-kInfinity, 0xFF},
                                    {0x1p-6, 0x08},   // the smallest normal
                                    {0x1p-9, 0x01},   // the smallest subnormal
                                    {0x1p-10, 0x00},  // half of it: to even
                                    {std::nextafter(0x1p-10, 1), 0x01},
                                    {3 * 0x1p-10, 0x02},   // tie between 1 and 2 steps: to even
                                    {7.5 * 0x1p-9, 0x08},  // rounds up into the normals
                                    {1.0625, 0x38},        // ties to even, down
                                    {1.1875, 0x3A},        // and up
                                    {1.9375, 0x40},        // a carry into the exponent
                                });
  EXPECT_EQ(bits_of(DType::kF8E4M3FN, kNaN) & 0x7F, 0x7Fu);
}

TEST(HostArray, RoundsToF8E5M2) {
  expect_bits(DType::kF8E5M2, {
                                  {1, 0x3C},
                                  {-1.25, 0xBD},
                                  {57344, 0x7B},  // the largest
                                  {std::nextafter(61440, 0), 0x7B},
                                  {61440, 0x7C},  // half way to the next power: to infinity
                                  {kInfinity, 0x7C},
                                  {-kInfinity, 0xFC},
                                  {0x1p-14, 0x04},
                                  {0x1p-16, 0x01},
                                  {0x1p-17, 0x00},
                                  {3 * 0x1p-17, 0x02},
                                  {3.5 * 0x1p-16, 0x04},
                                  {1.125, 0x3C},
                                  {1.375, 0x3E},
                              });
  EXPECT_EQ(bits_of(DType::kF8E5M2, kNaN), 0x7Eu);
}

TEST(HostArray, RoundsToBF16) {
  expect_bits(DType::kBF16, {
                                {1, 0x3F80},
                                {-2, 0xC000},
                                {3.140625, 0x4049},
                                {1 + 0x1p-8, 0x3F80},  // ties to even, down
                                {1 + 3 * 0x1p-8, 0x3F82},
                                {1 + 0x1p-8 + 0x1p-40, 0x3F81},  // no double rounding through f32
                                {0x1.FEp127, 0x7F7F},
                                {0x1.FEFFFFp127, 0x7F7F},
                                {0x1.FFp127, 0x7F80},
                                {-kInfinity, 0xFF80},
                                {0x1p-126, 0x0080},
                                {0x1p-133, 0x0001},
                                {0x1p-134, 0x0000},
                                {3 * 0x1p-134, 0x0002},
                                {-1e-300, 0x8000},
                            });
  EXPECT_EQ(bits_of(DType::kBF16, kNaN), 0x7FC0u);
}

TEST(HostArray, RoundsToF16) {
  expect_bits(DType::kF16, {
                               {1, 0x3C00},
                               {-2, 0xC000},
                               {65504, 0x7BFF},
                               {std::nextafter(65520, 0), 0x7BFF},
                               {65520, 0x7C00},
                               {kInfinity, 0x7C00},
                               {0x1p-14, 0x0400},
                               {0x1p-24, 0x0001},
                               {0x1p-25, 0x0000},
                               {3 * 0x1p-25, 0x0002},
                               {1 + 0x1p-11, 0x3C00},
                               {1 + 3 * 0x1p-11, 0x3C02},
                               {1023.5 * 0x1p-24, 0x0400},
                           });
  EXPECT_EQ(bits_of(DType::kF16, kNaN), 0x7E00u);
}

TEST(HostArray, RoundsToF32AndF64) {
  expect_bits(DType::kF32, {
                               {1, 0x3F800000},
                               {1 + 0x1p-24, 0x3F800000},
                               {1 + 3 * 0x1p-24, 0x3F800002},
                               {0x1p-149, 0x00000001},
                               {1e300, 0x7F800000},
                           });
  expect_bits(DType::kF64, {{1, 0x3FF0000000000000}, {-0.0, 0x8000000000000000}});
}

TEST(HostArray, DropsTheFractionForIntegersAndWraps) {
  expect_bits(DType::kS32, {{1.9, 1}, {-1.9, 0xFFFFFFFF}, {-2147483648.0, 0x80000000}});
  expect_bits(DType::kS8, {{-128, 0x80}, {127.9, 0x7F}, {200, 200}});
  expect_bits(DType::kU8, {{255, 0xFF}, {-1, 0xFF}, {256, 0}});
  expect_bits(DType::kS16, {{-2, 0xFFFE}});
  expect_bits(DType::kU16, {{65535, 0xFFFF}});
  expect_bits(DType::kU32, {{4294967295.0, 0xFFFFFFFF}});
  expect_bits(DType::kS64, {{-0x1p63, 0x8000000000000000}, {0x1p62, 0x4000000000000000}});
  expect_bits(DType::kU64, {{0x1p63, 0x8000000000000000}, {-1, 0xFFFFFFFFFFFFFFFF}});
  expect_bits(DType::kBool, {{0, 0}, {0.25, 1}, {-3, 1}, {-0.0, 0}});
}

TEST(HostArray, KeepsFourBitIntegersInTheirRange) {
  expect_bits(DType::kS4, {{7, 0x07}, {-8, 0xF8}, {8, 0xF8}, {-9, 0x07}});
  expect_bits(DType::kU4, {{15, 0x0F}, {16, 0}, {-1, 0x0F}});
}

TEST(HostArray, SaturatesWhatSixtyFourBitsCannotHoldAndMakesNaNZero) {
  expect_bits(DType::kS64, {{1e30, 0x7FFFFFFFFFFFFFFF}, {-1e30, 0x8000000000000000}, {kNaN, 0}});
  expect_bits(DType::kU64, {{1e30, 0xFFFFFFFFFFFFFFFF}, {kNaN, 0}});
}

class NarrowFloats : public ::testing::TestWithParam<DType> {};

// All there are: each must come back as the bits it was, NaNs as some NaN.
TEST_P(NarrowFloats, SurviveTheWayThroughDouble) {
  const DType dtype = GetParam();
  for (uint64_t bits = 0; bits < uint64_t{1} << dtype_bits(dtype); ++bits) {
    const double value = value_of(dtype, bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(value_of(dtype, bits_of(dtype, value)))) << bits;
    } else {
      ASSERT_EQ(bits_of(dtype, value), bits) << value;
    }
  }
}

// The definition of rounding itself, searched over all values of the type.
TEST_P(NarrowFloats, RoundToTheNearestAndTiesToEven) {
  const DType dtype = GetParam();
  std::vector<std::pair<double, uint64_t>> finite;  // ascending: positive bits are ordered
  for (uint64_t bits = 0; bits < uint64_t{1} << (dtype_bits(dtype) - 1); ++bits) {
    const double value = value_of(dtype, bits);
    if (std::isfinite(value)) finite.push_back({value, bits});
  }
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    const auto [low, low_bits] = finite[i];
    const auto [high, high_bits] = finite[i + 1];
    const double middle = low + (high - low) / 2;
    ASSERT_EQ(bits_of(dtype, middle), low_bits % 2 == 0 ? low_bits : high_bits) << middle;
    ASSERT_EQ(bits_of(dtype, std::nextafter(middle, low)), low_bits) << middle;
    ASSERT_EQ(bits_of(dtype, std::nextafter(middle, high)), high_bits) << middle;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NarrowFloats,
                         ::testing::Values(DType::kF8E4M3FN, DType::kF8E5M2, DType::kBF16,
                                           DType::kF16),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST(HostArray, F8E4M3FNHasNumbersWhereOthersHaveInfinity) {
  EXPECT_EQ(value_of(DType::kF8E4M3FN, 0x78), 256);
  EXPECT_EQ(value_of(DType::kF8E4M3FN, 0x7E), 448);
  EXPECT_TRUE(std::isnan(value_of(DType::kF8E4M3FN, 0x7F)));
  EXPECT_TRUE(std::isnan(value_of(DType::kF8E4M3FN, 0xFF)));
  EXPECT_EQ(value_of(DType::kF8E5M2, 0x7C), kInfinity);
  EXPECT_TRUE(std::isnan(value_of(DType::kF8E5M2, 0x7D)));
}

TEST(HostArray, EveryDTypeHoldsItsSmallIntegers) {
  const std::vector<double> values = {0, 1, 1, 0};
  for (DType dtype : all_dtypes()) {
    const HostArray array = from_doubles({dtype, {2, 2}}, values);
    EXPECT_EQ(static_cast<int>(array.bytes().size()), 4 * dtype_host_bytes(dtype));
    EXPECT_EQ(to_doubles(array), values) << dtype_name(dtype);
  }
}

TEST(HostArray, BeginsAsZerosAndCopiesWhatItGets) {
  EXPECT_EQ(to_doubles(HostArray(Shape{DType::kF32, {3}})), (std::vector<double>{0, 0, 0}));
  const std::vector<int32_t> values = {3, -4};
  const HostArray array = HostArray::from<int32_t>(DType::kS32, {2, 1}, values);
  EXPECT_EQ(to_string(array.shape()), "s32[2,1]");
  EXPECT_EQ(to_doubles(array), (std::vector<double>{3, -4}));
  EXPECT_EQ(HostArray(Shape{DType::kF32, {0, 4}}).bytes().size(), 0u);
}

TEST(DTypes, NamesAreReadBack) {
  for (DType dtype : all_dtypes()) {
    const Result<DType> parsed = parse_dtype(dtype_name(dtype));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, dtype);
    EXPECT_EQ(is_floating(dtype) + is_integer(dtype) + is_bool(dtype), 1) << dtype_name(dtype);
  }
  const Result<DType> unknown = parse_dtype("float32");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("f32"), std::string::npos) << unknown.status();
}

TEST(Shapes, AreWrittenAndBroadcastLikeNumPys) {
  EXPECT_EQ(to_string(Shape{DType::kBF16, {8, 1}}), "bf16[8,1]");
  EXPECT_EQ(to_string(Shape{DType::kS32, {}}), "s32[]");
  EXPECT_EQ((Shape{DType::kF32, {2, 0, 3}}).elements(), 0);
  EXPECT_EQ((Shape{DType::kF32, {}}).elements(), 1);
  const Dims a = {8, 1, 3}, b = {4, 1}, c = {2}, empty = {0};
  EXPECT_EQ(*broadcast_dims(a, b), (Dims{8, 4, 3}));
  EXPECT_EQ(*broadcast_dims(b, a), (Dims{8, 4, 3}));
  EXPECT_EQ(*broadcast_dims(b, empty), (Dims{4, 0}));
  const auto wrong = broadcast_dims(a, c);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message(),
            "shapes [8,1,3] and [2] do not broadcast: sizes 3 and 2 meet");
}

}  // namespace
}  // namespace tessera
