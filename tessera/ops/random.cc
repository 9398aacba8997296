#include "tessera/ops/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/dims.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/random_internal.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using random_internal::erf_inv_values;

Value u32(Value like, double value) { return scalar(like.graph(), DType::kU32, value); }

// Rotations to the left, whose amounts are broadcast once each, not once a use.
class Rotator {
 public:
  explicit Rotator(Value like) : graph_(like.graph()), shape_(like.shape()) {}

  Value operator()(Value x, int bits) {
    return bitwise_or(shift_left(x, amount(bits)), shift_right_logical(x, amount(32 - bits)));
  }

 private:
  Value amount(int bits) {
    Value& value = amounts_[bits];
    if (!value.defined()) value = full(graph_, shape_, bits);
    return value;
  }

  Graph& graph_;
  Shape shape_;
  std::array<Value, 32> amounts_;
};

struct KeyWords {
  Value high;
  Value low;
};

KeyWords key_words(std::string_view op, Value key) {
  if (!key.defined() || key.shape() != Shape{DType::kU32, {2}}) {
    fail_at(op, key, "a key is u32[2]: random_key() makes one from a seed");
  }
  return {reshape(slice_in_dim(key, 0, 0, 1), {}), reshape(slice_in_dim(key, 0, 1, 2), {})};
}

// Each element's number in the whole array, row-major. Every dim has an iota of its own, which a
// partitioner splits without moving data.
Value element_numbers(Graph& graph, std::span<const int64_t> dims, DType dtype) {
  const Shape shape{dtype, Dims(dims.begin(), dims.end())};
  Value sum;
  double stride = 1;
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    Value term = iota(graph, shape, dim);
    if (stride != 1) term = term * stride;
    sum = sum.defined() ? sum + term : term;
    stride *= static_cast<double>(shape.dim(dim));
  }
  return sum.defined() ? sum : zeros(graph, shape);
}

// The two random words of each element.
ThreefryWords random_words(std::string_view op, Value key, std::span<const int64_t> dims) {
  const KeyWords words = key_words(op, key);
  Graph& graph = key.graph();
  const Shape shape{DType::kU32, Dims(dims.begin(), dims.end())};
  if (shape.elements() <= int64_t{1} << 32) {
    const Value numbers = element_numbers(graph, dims, DType::kU32);
    return threefry2x32(words.high, words.low, u32(key, 0), numbers);
  }
  const Value numbers = element_numbers(graph, dims, DType::kU64);
  return threefry2x32(words.high, words.low, convert(shift_right_logical(numbers, 32), DType::kU32),
                      convert(numbers, DType::kU32));
}

Value join_words(ThreefryWords words) {
  return bitwise_or(shift_left(convert(words.x, DType::kU64), 32), convert(words.y, DType::kU64));
}

Value bits_of(std::string_view op, Value key, std::span<const int64_t> dims, DType dtype) {
  const ThreefryWords words = random_words(op, key, dims);
  if (dtype == DType::kU64) return join_words(words);
  return convert(bitwise_xor(words.x, words.y), dtype);
}

struct FloatFormat {
  DType bits;   // as wide as the float
  DType drawn;  // what is drawn for it
  int drawn_bits;
  int mantissa_bits;
  uint64_t one;  // the bits of 1.0
};

FloatFormat float_format(std::string_view op, Value key, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {DType::kU64, DType::kU64, 64, 52, 0x3FF0000000000000};
    case DType::kF32:
      return {DType::kU32, DType::kU32, 32, 23, 0x3F800000};
    case DType::kF16:
      return {DType::kU16, DType::kU16, 16, 10, 0x3C00};
    case DType::kBF16:
      return {DType::kU16, DType::kU8, 8, 7, 0x3F80};
    default:
      fail_at(op, key, "dtype is ", dtype_name(dtype), ", must be f64, f32, f16 or bf16");
  }
}

// Random mantissas below the exponent of 1 are uniform in [1, 2).
Value unit_uniform(std::string_view op, Value key, const Shape& shape) {
  const FloatFormat format = float_format(op, key, shape.dtype);
  const Value bits = convert(bits_of(op, key, shape.dims, format.drawn), format.bits);
  const Value mantissa = shift_right_logical(bits, format.drawn_bits - format.mantissa_bits);
  const std::span<const uint64_t> one_bits(&format.one, 1);
  const Value one = constant(key.graph(), HostArray::from(DType::kU64, {}, one_bits));
  return bitcast(bitwise_or(mantissa, convert(one, format.bits)), shape.dtype) - 1.0;
}

void check_randint(Value key, DType dtype, int64_t lo, int64_t hi) {
  const int bits = dtype_bits(dtype);
  if (!is_integer(dtype) || bits < 32) {
    fail_at("randint", key, "dtype is ", dtype_name(dtype), ", must be s32, s64, u32 or u64");
  }
  // 2^53 at most, since numbers in a graph are given as doubles.
  const double lowest = is_signed_integer(dtype) ? -std::ldexp(1.0, std::min(bits - 1, 53)) : 0;
  const double end = std::ldexp(1.0, std::min(is_signed_integer(dtype) ? bits - 1 : bits, 53));
  if (lo >= hi || static_cast<double>(lo) < lowest || static_cast<double>(hi) > end) {
    fail_at("randint", key, "[", lo, ", ", hi, ") is empty or reaches beyond [", lowest, ", ", end,
            "), the integers of ", dtype_name(dtype), " that it can give");
  }
}

double rounded(DType dtype, double value) {
  return to_doubles(from_doubles(Shape{dtype, {}}, std::span(&value, 1)))[0];
}

Value uniform_between(std::string_view op, Value key, const Shape& shape, double lo, double hi) {
  const Value unit = unit_uniform(op, key, shape);
  if (lo == 0 && hi == 1) return unit;
  lo = rounded(shape.dtype, lo);
  hi = rounded(shape.dtype, hi);
  if (!(lo < hi) || !std::isfinite(hi - lo)) {
    fail_at(op, key, "[", lo, ", ", hi, ") is no interval in ", dtype_name(shape.dtype));
  }
  // The product may round below lo.
  return maximum(unit * rounded(shape.dtype, hi - lo) + lo, lo);
}

// The dtype that samples are computed in: narrow floats are too coarse for it.
DType working_dtype(std::string_view op, Value key, DType dtype) {
  if (!is_floating(dtype)) fail_at(op, key, "dtype is ", dtype_name(dtype), ", must be a float's");
  return dtype == DType::kF64 ? dtype : DType::kF32;
}

double next(DType dtype, double from, double towards) {
  if (dtype == DType::kF64) return std::nextafter(from, towards);
  return std::nextafter(static_cast<float>(from), static_cast<float>(towards));
}

}  // namespace

// The family is composed of other families' ops.
std::span<const OpDef* const> random_ops() { return {}; }

ThreefryWords threefry2x32(Value key0, Value key1, Value x, Value y) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Value keys[3] = {key0, key1, bitwise_xor(bitwise_xor(key0, key1), u32(key0, 0x1BD11BDA))};
  x = x + keys[0];
  y = y + keys[1];
  Rotator rotate_left(y);
  for (int group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x = x + y;
      y = bitwise_xor(x, rotate_left(y, rotation));
    }
    x = x + keys[(group + 1) % 3];
    y = y + (keys[(group + 2) % 3] + u32(key0, group + 1));
  }
  return {x, y};
}

Value random_key(Graph& graph, uint64_t seed) {
  const std::array<uint32_t, 2> words = {static_cast<uint32_t>(seed >> 32),
                                         static_cast<uint32_t>(seed)};
  return constant(graph, HostArray::from(DType::kU32, {2}, std::span<const uint32_t>(words)));
}

std::vector<Value> split(Value key, int n) {
  if (n < 1) fail_at("split", key, n, " keys: give a number of at least 1");
  const int64_t dims[] = {n};
  const ThreefryWords words = random_words("split", key, dims);
  const Value both = stack({words.x, words.y}, 1);
  std::vector<Value> keys;
  for (int i = 0; i < n; ++i) keys.push_back(reshape(slice_in_dim(both, 0, i, i + 1), {2}));
  return keys;
}

Value fold_in(Value key, Value data) {
  const KeyWords words = key_words("fold_in", key);
  if (!data.defined() || data.rank() != 0 || !is_integer(data.dtype())) {
    fail_at("fold_in", key, "the number must be an integer scalar, got ",
            data.defined() ? to_string(data.shape()) : "an undefined value");
  }
  const ThreefryWords folded =
      threefry2x32(words.high, words.low, u32(key, 0), convert(data, DType::kU32));
  return stack({folded.x, folded.y});
}

Value fold_in(Value key, uint32_t data) { return fold_in(key, u32(key, data)); }

Value random_bits(Value key, std::span<const int64_t> dims, DType dtype) {
  if (dtype != DType::kU8 && dtype != DType::kU16 && dtype != DType::kU32 && dtype != DType::kU64) {
    fail_at("random_bits", key, "dtype is ", dtype_name(dtype), ", must be u8, u16, u32 or u64");
  }
  return bits_of("random_bits", key, dims, dtype);
}

Value uniform(Value key, const Shape& shape, double lo, double hi) {
  return uniform_between("uniform", key, shape, lo, hi);
}

Value normal(Value key, const Shape& shape) {
  const DType work = working_dtype("normal", key, shape.dtype);
  const Value u = uniform_between("normal", key, shape.with_dtype(work), next(work, -1, 0), 1);
  return convert(erf_inv_values(u) * std::sqrt(2.0), shape.dtype);
}

Value truncated_normal(Value key, const Shape& shape, double lo, double hi) {
  const DType work = working_dtype("truncated_normal", key, shape.dtype);
  if (!(lo < hi)) fail_at("truncated_normal", key, "(", lo, ", ", hi, ") is no interval");
  const Value u = uniform_between("truncated_normal", key, shape.with_dtype(work),
                                  std::erf(lo / std::sqrt(2.0)), std::erf(hi / std::sqrt(2.0)));
  const Value x = erf_inv_values(u) * std::sqrt(2.0);
  return convert(clamp(x, next(work, lo, hi), next(work, hi, lo)), shape.dtype);
}

Value bernoulli(Value key, double p, std::span<const int64_t> dims) {
  if (!(p >= 0 && p <= 1)) fail_at("bernoulli", key, "p is ", p, ", must be in [0, 1]");
  return less(unit_uniform("bernoulli", key, {DType::kF32, Dims(dims.begin(), dims.end())}), p);
}

Value randint(Value key, const Shape& shape, int64_t lo, int64_t hi) {
  check_randint(key, shape.dtype, lo, hi);
  const std::vector<Value> keys = split(key);
  const Value high = bits_of("randint", keys[0], shape.dims, DType::kU32);
  const Value low = bits_of("randint", keys[1], shape.dims, DType::kU32);
  const Value offset = remainder(join_words({high, low}), static_cast<double>(hi - lo));
  return convert(offset, shape.dtype) + static_cast<double>(lo);
}

Value gumbel(Value key, const Shape& shape) {
  const DType work = working_dtype("gumbel", key, shape.dtype);
  const double tiny =
      work == DType::kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  const Value u = uniform_between("gumbel", key, shape.with_dtype(work), tiny, 1);
  return convert(-log(-log(u)), shape.dtype);
}

Value categorical(Value key, Value logits) {
  if (!logits.defined() || logits.rank() == 0 || !is_floating(logits.dtype())) {
    fail_at("categorical", logits, "logits must be floats with at least one dim");
  }
  const DType work = working_dtype("categorical", key, logits.dtype());
  const Value scores = convert(logits, work) + gumbel(key, logits.shape().with_dtype(work));
  return argmax(scores, -1);
}

Value erf_inv(Value x) {
  if (!x.defined() || (x.dtype() != DType::kF32 && x.dtype() != DType::kF64)) {
    fail_at("erf_inv", x, "the operand must be f32 or f64");
  }
  const auto values = [](std::span<const Value> args) {
    return std::vector<Value>{erf_inv_values(args[0])};
  };
  // d erf⁻¹(x)/dx = √π/2 · exp(erf⁻¹(x)²)
  const auto gradient = [](std::span<const Value>, std::span<const Value> results,
                           std::span<const Value> cotangents) {
    const double factor = std::sqrt(std::acos(-1.0)) / 2;
    return std::vector<Value>{cotangents[0] * exp(square(results[0])) * factor};
  };
  return custom_gradient(values, gradient, std::span(&x, 1))[0];
}

}  // namespace tessera
