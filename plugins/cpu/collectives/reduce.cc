#include "plugins/cpu/collectives/reduce.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <type_traits>

#include "plugins/cpu/collectives/failure.h"

namespace tessera::pjrt_cpu {
namespace {

// ---- narrow floating-point numbers: stored as bits, computed in f32

struct BF16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

float widen(BF16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }
BF16 narrow_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return {static_cast<uint16_t>((bits >> 16) | 0x40)};     // stays a NaN
  return {static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};  // to nearest, even
}

float widen(F16 value) {
  const uint32_t sign = uint32_t{value.bits & 0x8000u} << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1F, mantissa = value.bits & 0x3FF;
  if (exponent == 0) {  // zero and subnormals: multiples of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}
F16 narrow_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return {static_cast<uint16_t>(sign | 0x7E00)};   // NaN
  if (magnitude >= 0x477FF000) return {static_cast<uint16_t>(sign | 0x7C00)};  // rounds to infinity
  if (magnitude < 0x38800000) {  // subnormal: adding 2^-1 rounds to multiples of 2^-24
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000))};
  }
  const uint32_t rebased = magnitude - (112u << 23);
  return {static_cast<uint16_t>(sign | ((rebased + 0xFFF + ((rebased >> 13) & 1)) >> 13))};
}

template <typename T>
struct Arithmetic {
  using Wide = T;
  static Wide load(T value) { return value; }
  static T store(Wide value) { return value; }
};
template <>
struct Arithmetic<BF16> {
  using Wide = float;
  static float load(BF16 value) { return widen(value); }
  static BF16 store(float value) { return narrow_bf16(value); }
};
template <>
struct Arithmetic<F16> {
  using Wide = float;
  static float load(F16 value) { return widen(value); }
  static F16 store(float value) { return narrow_f16(value); }
};

// ---- operations

template <typename T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
// Signed overflow wraps, as in XLA.
template <typename T>
using Modular = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                            std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <typename T>
  static constexpr bool exists = true;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>)
      return a || b;
    else
      return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
  }
};
struct Product {
  template <typename T>
  static constexpr bool exists = true;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    // u16 * u16 would be computed in int, which overflows
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};
struct Min {
  template <typename T>
  static constexpr bool exists = !kIsComplex<T>;
  template <typename T>
  T operator()(T a, T b) const {
    return a != a ? a : (b < a || b != b ? b : a);
  }
};
struct Max {
  template <typename T>
  static constexpr bool exists = !kIsComplex<T>;
  template <typename T>
  T operator()(T a, T b) const {
    return a != a ? a : (b > a || b != b ? b : a);
  }
};
struct And {
  template <typename T>
  static constexpr bool exists = std::is_integral_v<T>;
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static constexpr bool exists = std::is_integral_v<T>;
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

// ---- the loop: block by block, so that sums stay in the cache

template <typename T, typename Op>
void reduce_all(std::span<const void* const> inputs, void* output, size_t count) {
  using Wide = typename Arithmetic<T>::Wide;
  if constexpr (!Op::template exists<Wide>) {
    throw Failure(Failure::kInvalidArgument, "this reduction does not exist for the element type");
  } else {
    constexpr size_t kBlock = 1024;
    Wide sums[kBlock];
    for (size_t start = 0; start < count; start += kBlock) {
      const size_t size = std::min(kBlock, count - start);
      const T* first = static_cast<const T*>(inputs[0]) + start;
      for (size_t i = 0; i < size; ++i) sums[i] = Arithmetic<T>::load(first[i]);
      for (size_t k = 1; k < inputs.size(); ++k) {
        const T* next = static_cast<const T*>(inputs[k]) + start;
        for (size_t i = 0; i < size; ++i) sums[i] = Op()(sums[i], Arithmetic<T>::load(next[i]));
      }
      T* out = static_cast<T*>(output) + start;
      for (size_t i = 0; i < size; ++i) out[i] = Arithmetic<T>::store(sums[i]);
    }
  }
}

template <typename T>
void reduce_by(Reduction reduction, std::span<const void* const> inputs, void* output,
               size_t count) {
  switch (reduction) {
    case Reduction::kSum:
      return reduce_all<T, Sum>(inputs, output, count);
    case Reduction::kProduct:
      return reduce_all<T, Product>(inputs, output, count);
    case Reduction::kMin:
      return reduce_all<T, Min>(inputs, output, count);
    case Reduction::kMax:
      return reduce_all<T, Max>(inputs, output, count);
    case Reduction::kAnd:
      return reduce_all<T, And>(inputs, output, count);
    case Reduction::kOr:
      return reduce_all<T, Or>(inputs, output, count);
  }
}

}  // namespace

size_t bytes_of(Element element) {
  constexpr size_t kBytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return kBytes[static_cast<size_t>(element)];
}

void reduce(Element element, Reduction reduction, std::span<const void* const> inputs, void* output,
            size_t count) {
  switch (element) {
    case Element::kPred:
      return reduce_by<bool>(reduction, inputs, output, count);
    case Element::kS8:
      return reduce_by<int8_t>(reduction, inputs, output, count);
    case Element::kS16:
      return reduce_by<int16_t>(reduction, inputs, output, count);
    case Element::kS32:
      return reduce_by<int32_t>(reduction, inputs, output, count);
    case Element::kS64:
      return reduce_by<int64_t>(reduction, inputs, output, count);
    case Element::kU8:
      return reduce_by<uint8_t>(reduction, inputs, output, count);
    case Element::kU16:
      return reduce_by<uint16_t>(reduction, inputs, output, count);
    case Element::kU32:
      return reduce_by<uint32_t>(reduction, inputs, output, count);
    case Element::kU64:
      return reduce_by<uint64_t>(reduction, inputs, output, count);
    case Element::kF16:
      return reduce_by<F16>(reduction, inputs, output, count);
    case Element::kBF16:
      return reduce_by<BF16>(reduction, inputs, output, count);
    case Element::kF32:
      return reduce_by<float>(reduction, inputs, output, count);
    case Element::kF64:
      return reduce_by<double>(reduction, inputs, output, count);
    case Element::kC64:
      return reduce_by<std::complex<float>>(reduction, inputs, output, count);
    case Element::kC128:
      return reduce_by<std::complex<double>>(reduction, inputs, output, count);
  }
}

}  // namespace tessera::pjrt_cpu
