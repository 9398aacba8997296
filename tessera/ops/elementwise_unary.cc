#include "tessera/ops/elementwise_unary.h"

#include <cmath>
#include <numbers>

#include "tessera/ops/constant.h"
#include "tessera/ops/dims.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/elementwise_internal.h"

namespace tessera {

using elementwise_internal::check_dtype;
using elementwise_internal::infer_same;
using elementwise_internal::kBools;
using elementwise_internal::kFloats;
using elementwise_internal::kIntegers;
using elementwise_internal::kNumbers;
using elementwise_internal::kSigned;

namespace {

constexpr std::string_view kStep = "it is constant between its steps";
constexpr std::string_view kBitwise = "it works on bits";

std::vector<Shape> infer_is_finite(const InferContext& c) {
  check_dtype(c.operands[0].dtype, kFloats);
  return {c.operands[0].with_dtype(DType::kBool)};
}

std::vector<Shape> infer_convert(const InferContext& c) {
  return {c.operands[0].with_dtype(c.attr<ConvertAttrs>().dtype)};
}

std::vector<Shape> infer_bitcast(const InferContext& c) {
  Shape shape = c.operands[0].with_dtype(c.attr<BitcastAttrs>().dtype);
  const int from = dtype_bits(c.operands[0].dtype);
  const int to = dtype_bits(shape.dtype);
  if (is_bool(shape.dtype) || is_bool(c.operands[0].dtype)) {
    fail("bool has no bits to speak of: use convert(x, DType::kU8)");
  }
  if (from > to) shape.dims.push_back(from / to);
  if (from < to) {
    const int64_t ratio = to / from;
    if (shape.rank() == 0 || shape.dims.back() != ratio) {
      fail("to ", dtype_name(shape.dtype), " the last dimension must have size ", ratio,
           ", that many elements make one");
    }
    shape.dims.pop_back();
  }
  return {shape};
}

void vjp_convert(Vjp& v) {
  const DType from = v.operand(0).dtype();
  if (is_floating(from) && is_floating(v.output().dtype())) {
    v.set_grad(0, convert(v.cotangent(), from));
  }
}

}  // namespace

const OpDef kAbs = {.name = "abs", .infer = infer_same<kFloats | kSigned>, .vjp = [](Vjp& v) {
                      v.set_grad(0, v.cotangent() * sign(v.operand(0)));
                    }};
const OpDef kSign = {.name = "sign",
                     .infer = infer_same<kFloats | kSigned>,
                     .no_gradient = kStep,
                     .zero_gradient = true};
const OpDef kNeg = {.name = "neg", .infer = infer_same<kNumbers>, .vjp = [](Vjp& v) {
                      v.set_grad(0, -v.cotangent());
                    }};
const OpDef kExp = {.name = "exp", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                      v.set_grad(0, v.cotangent() * v.output());
                    }};
const OpDef kExpm1 = {.name = "expm1", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                        v.set_grad(0, v.cotangent() * (v.output() + 1));
                      }};
const OpDef kLog = {.name = "log", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                      v.set_grad(0, v.cotangent() / v.operand(0));
                    }};
const OpDef kLog1p = {.name = "log1p", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                        v.set_grad(0, v.cotangent() / (v.operand(0) + 1));
                      }};
const OpDef kSqrt = {.name = "sqrt", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                       v.set_grad(0, v.cotangent() * 0.5 / v.output());
                     }};
const OpDef kRsqrt = {.name = "rsqrt", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                        v.set_grad(0, v.cotangent() * (-0.5 * v.output() / v.operand(0)));
                      }};
const OpDef kSin = {.name = "sin", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                      v.set_grad(0, v.cotangent() * cos(v.operand(0)));
                    }};
const OpDef kCos = {.name = "cos", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                      v.set_grad(0, -v.cotangent() * sin(v.operand(0)));
                    }};
const OpDef kTanh = {.name = "tanh", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                       // Not 1 - y^2, which cancels where y is near 1.
                       v.set_grad(0, v.cotangent() * (1 + v.output()) * (1 - v.output()));
                     }};
const OpDef kLogistic = {.name = "logistic", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                           v.set_grad(0, v.cotangent() * v.output() * (1 - v.output()));
                         }};
const OpDef kErf = {.name = "erf", .infer = infer_same<kFloats>, .vjp = [](Vjp& v) {
                      const Value slope = 2 * std::numbers::inv_sqrtpi * exp(-square(v.operand(0)));
                      v.set_grad(0, v.cotangent() * slope);
                    }};
const OpDef kFloor = {
    .name = "floor", .infer = infer_same<kFloats>, .no_gradient = kStep, .zero_gradient = true};
const OpDef kCeil = {
    .name = "ceil", .infer = infer_same<kFloats>, .no_gradient = kStep, .zero_gradient = true};
const OpDef kRound = {
    .name = "round", .infer = infer_same<kFloats>, .no_gradient = kStep, .zero_gradient = true};
const OpDef kIsFinite = {
    .name = "is_finite", .infer = infer_is_finite, .no_gradient = kStep, .zero_gradient = true};
const OpDef kNot = {.name = "not",
                    .infer = infer_same<kIntegers | kBools>,
                    .no_gradient = kBitwise,
                    .zero_gradient = true};
const OpDef kPopcount = {.name = "popcount",
                         .infer = infer_same<kIntegers>,
                         .no_gradient = kBitwise,
                         .zero_gradient = true};
const OpDef kCountLeadingZeros = {.name = "count_leading_zeros",
                                  .infer = infer_same<kIntegers>,
                                  .no_gradient = kBitwise,
                                  .zero_gradient = true};
const OpDef kStopGradient = {
    .name = "stop_gradient",
    .infer = [](const InferContext& c) -> std::vector<Shape> { return {c.operands[0]}; },
    .no_gradient = "stopping it is what it is for",
    .zero_gradient = true};
const OpDef kConvert = {.name = "convert", .infer = infer_convert, .vjp = vjp_convert};
const OpDef kBitcast = {
    .name = "bitcast", .infer = infer_bitcast, .no_gradient = kBitwise, .zero_gradient = true};

Value abs(Value x) { return apply(kAbs, {x}); }
Value sign(Value x) { return apply(kSign, {x}); }
Value neg(Value x) { return apply(kNeg, {x}); }
Value exp(Value x) { return apply(kExp, {x}); }
Value expm1(Value x) { return apply(kExpm1, {x}); }
Value log(Value x) { return apply(kLog, {x}); }
Value log1p(Value x) { return apply(kLog1p, {x}); }
Value sqrt(Value x) { return apply(kSqrt, {x}); }
Value rsqrt(Value x) { return apply(kRsqrt, {x}); }
Value sin(Value x) { return apply(kSin, {x}); }
Value cos(Value x) { return apply(kCos, {x}); }
Value tanh(Value x) { return apply(kTanh, {x}); }
Value logistic(Value x) { return apply(kLogistic, {x}); }
Value erf(Value x) { return apply(kErf, {x}); }
Value floor(Value x) { return apply(kFloor, {x}); }
Value ceil(Value x) { return apply(kCeil, {x}); }
Value round(Value x) { return apply(kRound, {x}); }
Value is_finite(Value x) { return apply(kIsFinite, {x}); }
Value popcount(Value x) { return apply(kPopcount, {x}); }
Value count_leading_zeros(Value x) { return apply(kCountLeadingZeros, {x}); }
Value stop_gradient(Value x) { return apply(kStopGradient, {x}); }
Value bitwise_not(Value x) { return apply(kNot, {x}); }

Value logical_not(Value x) {
  if (x.defined() && !is_bool(x.dtype())) {
    fail_at("logical_not", x, "needs bool: compare it, for example with not_equal(x, 0)");
  }
  return apply(kNot, {x});
}

Value convert(Value x, DType dtype) {
  if (x.defined() && x.dtype() == dtype) return x;
  return apply(kConvert, {x}, ConvertAttrs{dtype});
}

Value bitcast(Value x, DType dtype) {
  if (x.defined() && x.dtype() == dtype) return x;
  return apply(kBitcast, {x}, BitcastAttrs{dtype});
}

Value square(Value x) { return x * x; }

// Not maximum(x, 0), which would give half of the cotangent at 0; nor with greater(), which would
// hide a NaN.
Value relu(Value x) { return select(less_equal(x, 0), 0, x); }

Value silu(Value x) { return x * logistic(x); }

Value gelu(Value x, bool approximate) {
  if (approximate) {
    const double scale = std::sqrt(2 * std::numbers::inv_pi);
    return 0.5 * x * (1 + tanh(scale * (x + 0.044715 * x * x * x)));
  }
  return 0.5 * x * (1 + erf(x * std::numbers::sqrt2 / 2));
}

Value softplus(Value x) { return maximum(x, 0) + log1p(exp(-abs(x))); }

std::span<const OpDef* const> elementwise_internal::unary_ops() {
  static constexpr const OpDef* kOps[] = {
      &kAbs,     &kSign,    &kNeg,         &kExp,      &kExpm1, &kLog,      &kLog1p,
      &kSqrt,    &kRsqrt,   &kSin,         &kCos,      &kTanh,  &kLogistic, &kErf,
      &kFloor,   &kCeil,    &kRound,       &kIsFinite, &kNot,   &kPopcount, &kCountLeadingZeros,
      &kConvert, &kBitcast, &kStopGradient};
  return kOps;
}

}  // namespace tessera
