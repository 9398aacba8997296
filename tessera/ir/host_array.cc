#include "tessera/ir/host_array.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera {
namespace {

/// A small floating-point format: how many bits of exponent and mantissa, and whether infinities
/// exist.
struct MiniFloat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // f8e4m3fn has none: its all-ones exponent holds numbers, and only all ones
                      // is NaN

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int max_exponent() const { return (1 << exponent_bits) - 1 - (has_infinity ? 1 : 0) - bias(); }
  uint32_t sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  uint32_t nan() const {
    return has_infinity ? (sign_bit() - 1) & ~((1u << (mantissa_bits - 1)) - 1) : sign_bit() - 1;
  }
  uint32_t infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
};

MiniFloat mini_float(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return {4, 3, false};
    case DType::kF8E5M2:
      return {5, 2, true};
    case DType::kBF16:
      return {8, 7, true};
    default:
      return {5, 10, true};  // f16
  }
}

double decode(uint32_t bits, const MiniFloat& format) {
  const double sign = bits & format.sign_bit() ? -1.0 : 1.0;
  bits &= format.sign_bit() - 1;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits);
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  if (format.has_infinity && exponent == (1 << format.exponent_bits) - 1) {
    return mantissa ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  if (!format.has_infinity && bits == format.nan()) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - format.bias() - format.mantissa_bits);
  const double significand = mantissa + (1u << format.mantissa_bits);
  return sign * std::ldexp(significand, exponent - format.bias() - format.mantissa_bits);
}

uint32_t encode(double value, const MiniFloat& format) {
  const uint32_t sign = std::signbit(value) ? format.sign_bit() : 0;
  if (std::isnan(value)) return sign | format.nan();
  const uint32_t overflow = format.has_infinity ? format.infinity() : format.nan();
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | overflow;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - format.bias())
    exponent = 1 - format.bias();  // subnormal: the exponent stays at its least
  // nearbyint rounds to nearest even in the default mode; a carry into the next exponent falls out
  // of the addition below.
  const auto scaled =
      static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  const int64_t bits =
      scaled + (static_cast<int64_t>(exponent + format.bias() - 1) << format.mantissa_bits);
  const int64_t largest = format.has_infinity ? format.infinity() - 1 : format.nan() - 1;
  return sign | (bits > largest ? overflow : static_cast<uint32_t>(bits));
}

constexpr double kTwoTo63 = 9223372036854775808.0;

// The low 64 bits, without the undefined conversions of C++.
uint64_t to_bits64(double value, bool is_signed) {
  if (std::isnan(value)) return 0;
  if (value < kTwoTo63) {
    return static_cast<uint64_t>(value < -kTwoTo63 ? std::numeric_limits<int64_t>::min()
                                                   : static_cast<int64_t>(value));
  }
  if (is_signed) return std::numeric_limits<int64_t>::max();
  return value < 2 * kTwoTo63 ? static_cast<uint64_t>(value) : std::numeric_limits<uint64_t>::max();
}

/// The bits of `value` as an element of an integer dtype that lies in a T. Four-bit integers lie in
/// a byte: what they wrap to is filled up with zeros or copies of the sign.
template <typename T>
T to_integer(double value, DType dtype) {
  const int unused = static_cast<int>(8 * sizeof(T)) - dtype_bits(dtype);
  const T wrapped = static_cast<T>(to_bits64(value, is_signed_integer(dtype)));
  return static_cast<T>(static_cast<T>(wrapped << unused) >> unused);
}

bool is_mini_float(DType dtype) { return is_floating(dtype) && dtype_bits(dtype) < 32; }

/// Calls `visit` with a value of the C++ type in which an element lies: of the floats that C++ does
/// not have, the unsigned integer with their bits.
template <typename Visit>
void visit_storage(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU4:
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return visit(uint8_t{});
    case DType::kS4:
    case DType::kS8:
      return visit(int8_t{});
    case DType::kS16:
      return visit(int16_t{});
    case DType::kS32:
      return visit(int32_t{});
    case DType::kS64:
      return visit(int64_t{});
    case DType::kU16:
    case DType::kBF16:
    case DType::kF16:
      return visit(uint16_t{});
    case DType::kU32:
      return visit(uint32_t{});
    case DType::kU64:
      return visit(uint64_t{});
    case DType::kF32:
      return visit(float{});
    case DType::kF64:
      return visit(double{});
  }
}

}  // namespace

std::vector<double> to_doubles(const HostArray& array) {
  const DType dtype = array.shape().dtype;
  std::vector<double> out;
  out.reserve(array.shape().elements());
  visit_storage(dtype, [&]<typename T>(T) {
    if (is_mini_float(dtype)) {
      const MiniFloat format = mini_float(dtype);
      for (T bits : array.as<T>()) out.push_back(decode(static_cast<uint32_t>(bits), format));
    } else {
      for (T value : array.as<T>()) out.push_back(static_cast<double>(value));
    }
  });
  return out;
}

HostArray from_doubles(Shape shape, std::span<const double> values) {
  HostArray array(std::move(shape));
  CHECK(static_cast<int64_t>(values.size()) == array.shape().elements());
  const DType dtype = array.shape().dtype;
  visit_storage(dtype, [&]<typename T>(T) {
    const auto fill = [&](auto element_of) {
      std::transform(values.begin(), values.end(), array.as<T>().begin(), element_of);
    };
    if constexpr (std::is_floating_point_v<T>) {
      fill([](double value) { return static_cast<T>(value); });
    } else if (is_mini_float(dtype)) {
      fill([format = mini_float(dtype)](double value) {
        return static_cast<T>(encode(value, format));
      });
    } else if (dtype == DType::kBool) {
      fill([](double value) { return static_cast<T>(value != 0); });
    } else {
      fill([dtype](double value) { return to_integer<T>(value, dtype); });
    }
  });
  return array;
}

}  // namespace tessera
