#include "tessera/ir/host_array.h"

#include <cmath>
#include <cstdint>
#include <limits>

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

template <typename T>
void widen(const HostArray& array, std::vector<double>& out) {
  for (T value : array.as<T>()) out.push_back(static_cast<double>(value));
}

template <typename T>
void narrow(std::span<const double> values, HostArray& array) {
  auto out = array.as<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(values[i]);
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

template <typename T>
void narrow_integer(std::span<const double> values, HostArray& array) {
  const DType dtype = array.shape().dtype;
  // Four-bit integers lie in a byte: what they wrap to is filled up with zeros or copies of the
  // sign.
  const int unused = static_cast<int>(8 * sizeof(T)) - dtype_bits(dtype);
  auto out = array.as<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    const T wrapped = static_cast<T>(to_bits64(values[i], is_signed_integer(dtype)));
    out[i] = static_cast<T>(static_cast<T>(wrapped << unused) >> unused);
  }
}

template <typename T>
void narrow_mini(std::span<const double> values, HostArray& array) {
  const MiniFloat format = mini_float(array.shape().dtype);
  auto out = array.as<T>();
  for (size_t i = 0; i < values.size(); ++i) out[i] = static_cast<T>(encode(values[i], format));
}

template <typename T>
void widen_mini(const HostArray& array, std::vector<double>& out) {
  const MiniFloat format = mini_float(array.shape().dtype);
  for (T bits : array.as<T>()) out.push_back(decode(bits, format));
}

}  // namespace

std::vector<double> to_doubles(const HostArray& array) {
  std::vector<double> out;
  out.reserve(array.shape().elements());
  switch (array.shape().dtype) {
    case DType::kBool:
    case DType::kU4:
    case DType::kU8:
      widen<uint8_t>(array, out);
      break;
    case DType::kS4:
    case DType::kS8:
      widen<int8_t>(array, out);
      break;
    case DType::kS16:
      widen<int16_t>(array, out);
      break;
    case DType::kS32:
      widen<int32_t>(array, out);
      break;
    case DType::kS64:
      widen<int64_t>(array, out);
      break;
    case DType::kU16:
      widen<uint16_t>(array, out);
      break;
    case DType::kU32:
      widen<uint32_t>(array, out);
      break;
    case DType::kU64:
      widen<uint64_t>(array, out);
      break;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      widen_mini<uint8_t>(array, out);
      break;
    case DType::kBF16:
    case DType::kF16:
      widen_mini<uint16_t>(array, out);
      break;
    case DType::kF32:
      widen<float>(array, out);
      break;
    case DType::kF64:
      widen<double>(array, out);
      break;
  }
  return out;
}

HostArray from_doubles(Shape shape, std::span<const double> values) {
  HostArray array(std::move(shape));
  CHECK(static_cast<int64_t>(values.size()) == array.shape().elements());
  switch (array.shape().dtype) {
    case DType::kBool:
      for (size_t i = 0; i < values.size(); ++i) array.as<uint8_t>()[i] = values[i] != 0;
      break;
    case DType::kS4:
    case DType::kS8:
      narrow_integer<int8_t>(values, array);
      break;
    case DType::kU4:
    case DType::kU8:
      narrow_integer<uint8_t>(values, array);
      break;
    case DType::kS16:
      narrow_integer<int16_t>(values, array);
      break;
    case DType::kS32:
      narrow_integer<int32_t>(values, array);
      break;
    case DType::kS64:
      narrow_integer<int64_t>(values, array);
      break;
    case DType::kU16:
      narrow_integer<uint16_t>(values, array);
      break;
    case DType::kU32:
      narrow_integer<uint32_t>(values, array);
      break;
    case DType::kU64:
      narrow_integer<uint64_t>(values, array);
      break;
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      narrow_mini<uint8_t>(values, array);
      break;
    case DType::kBF16:
    case DType::kF16:
      narrow_mini<uint16_t>(values, array);
      break;
    case DType::kF32:
      narrow<float>(values, array);
      break;
    case DType::kF64:
      narrow<double>(values, array);
      break;
  }
  return array;
}

}  // namespace tessera
