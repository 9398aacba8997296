#include "tessera/ops/elementwise_binary.h"

#include "tessera/ops/constant.h"
#include "tessera/ops/dims.h"
#include "tessera/ops/elementwise_internal.h"
#include "tessera/ops/elementwise_unary.h"

namespace tessera {

using elementwise_internal::apply_broadcast;
using elementwise_internal::infer_same;
using elementwise_internal::kBools;
using elementwise_internal::kFloats;
using elementwise_internal::kIntegers;
using elementwise_internal::kNumbers;

namespace {

constexpr std::string_view kBitwise = "it works on bits";

Value binary(const OpDef& op, Value a, Value b) { return apply_broadcast(op, {a, b}); }

void check_bool(std::string_view op, Value x) {
  if (!x.defined() || is_bool(x.dtype())) return;
  fail_at(op, x, "needs bool, got ", dtype_name(x.dtype()), ": use bitwise_",
          op.substr(op.find('_') + 1), ", or compare it first");
}

Value logical(const OpDef& op, std::string_view name, Value a, Value b) {
  check_bool(name, a);
  check_bool(name, b);
  return binary(op, a, b);
}

// Of a - trunc(a / b) * b.
void vjp_remainder(Vjp& v) {
  if (v.needs(0)) v.set_grad(0, v.cotangent());
  if (!v.needs(1)) return;
  const Value quotient = v.operand(0) / v.operand(1);
  v.set_grad(1, -v.cotangent() * sign(quotient) * floor(abs(quotient)));
}

void vjp_pow(Vjp& v) {
  const Value a = v.operand(0);
  const Value b = v.operand(1);
  // b = 0 and a = 0 would give 0 * 0^-1, which is NaN, where the slope is 0.
  if (v.needs(0)) {
    const Value exponent = select(equal(b, 0), 1, b - 1);
    v.set_grad(0, v.cotangent() * b * pow(a, exponent));
  }
  if (v.needs(1)) {
    const Value base = select(equal(a, 0), 1, a);
    v.set_grad(1, v.cotangent() * v.output() * log(base));
  }
}

void vjp_atan2(Vjp& v) {
  const Value y = v.operand(0);
  const Value x = v.operand(1);
  const Value g = v.cotangent() / (square(x) + square(y));
  if (v.needs(0)) v.set_grad(0, g * x);
  if (v.needs(1)) v.set_grad(1, -g * y);
}

// Operand i gets all where it was chosen alone, half where both are equal, nothing elsewhere.
void vjp_choice(Vjp& v) {
  const Value tie = equal(v.operand(0), v.operand(1));
  const Value half = v.cotangent() * 0.5;
  for (int i : {0, 1}) {
    if (!v.needs(i)) continue;
    const Value alone = select(equal(v.operand(i), v.output()), v.cotangent(), 0);
    v.set_grad(i, select(tie, half, alone));
  }
}

}  // namespace

const OpDef kAdd = {.name = "add", .infer = infer_same<kNumbers>, .vjp = [](Vjp& v) {
                      for (int i : {0, 1}) v.set_grad(i, v.cotangent());
                    }};
const OpDef kSubtract = {.name = "subtract", .infer = infer_same<kNumbers>, .vjp = [](Vjp& v) {
                           v.set_grad(0, v.cotangent());
                           if (v.needs(1)) v.set_grad(1, -v.cotangent());
                         }};
const OpDef kMultiply = {.name = "multiply", .infer = infer_same<kNumbers>, .vjp = [](Vjp& v) {
                           for (int i : {0, 1}) {
                             if (v.needs(i)) v.set_grad(i, v.cotangent() * v.operand(1 - i));
                           }
                         }};
const OpDef kDivide = {.name = "divide", .infer = infer_same<kNumbers>, .vjp = [](Vjp& v) {
                         const Value g = v.cotangent() / v.operand(1);
                         if (v.needs(0)) v.set_grad(0, g);
                         if (v.needs(1)) v.set_grad(1, -g * v.output());
                       }};
const OpDef kRemainder = {.name = "remainder", .infer = infer_same<kNumbers>, .vjp = vjp_remainder};
const OpDef kPow = {.name = "pow", .infer = infer_same<kNumbers>, .vjp = vjp_pow};
const OpDef kAtan2 = {.name = "atan2", .infer = infer_same<kFloats>, .vjp = vjp_atan2};
const OpDef kMaximum = {.name = "maximum", .infer = infer_same<kNumbers>, .vjp = vjp_choice};
const OpDef kMinimum = {.name = "minimum", .infer = infer_same<kNumbers>, .vjp = vjp_choice};
const OpDef kAnd = {.name = "and",
                    .infer = infer_same<kIntegers | kBools>,
                    .no_gradient = kBitwise,
                    .zero_gradient = true};
const OpDef kOr = {.name = "or",
                   .infer = infer_same<kIntegers | kBools>,
                   .no_gradient = kBitwise,
                   .zero_gradient = true};
const OpDef kXor = {.name = "xor",
                    .infer = infer_same<kIntegers | kBools>,
                    .no_gradient = kBitwise,
                    .zero_gradient = true};
const OpDef kShiftLeft = {.name = "shift_left",
                          .infer = infer_same<kIntegers>,
                          .no_gradient = kBitwise,
                          .zero_gradient = true};
const OpDef kShiftRightLogical = {.name = "shift_right_logical",
                                  .infer = infer_same<kIntegers>,
                                  .no_gradient = kBitwise,
                                  .zero_gradient = true};
const OpDef kShiftRightArithmetic = {.name = "shift_right_arithmetic",
                                     .infer = infer_same<kIntegers>,
                                     .no_gradient = kBitwise,
                                     .zero_gradient = true};

Value operator+(Value a, Value b) { return binary(kAdd, a, b); }
Value operator+(Value a, double b) { return apply(kAdd, {a, full_like(a, b)}); }
Value operator+(double a, Value b) { return apply(kAdd, {full_like(b, a), b}); }
Value operator-(Value a, Value b) { return binary(kSubtract, a, b); }
Value operator-(Value a, double b) { return apply(kSubtract, {a, full_like(a, b)}); }
Value operator-(double a, Value b) { return apply(kSubtract, {full_like(b, a), b}); }
Value operator*(Value a, Value b) { return binary(kMultiply, a, b); }
Value operator*(Value a, double b) { return apply(kMultiply, {a, full_like(a, b)}); }
Value operator*(double a, Value b) { return apply(kMultiply, {full_like(b, a), b}); }
Value operator/(Value a, Value b) { return binary(kDivide, a, b); }
Value operator/(Value a, double b) { return apply(kDivide, {a, full_like(a, b)}); }
Value operator/(double a, Value b) { return apply(kDivide, {full_like(b, a), b}); }
Value operator-(Value x) { return neg(x); }

Value remainder(Value a, Value b) { return binary(kRemainder, a, b); }
Value remainder(Value a, double b) { return apply(kRemainder, {a, full_like(a, b)}); }

Value pow(Value a, Value b) { return binary(kPow, a, b); }
Value pow(Value a, double b) {
  if (a.defined() && is_floating(a.dtype())) {
    if (b == 2) return a * a;
    if (b == 1) return a;
    if (b == 0.5) return sqrt(a);
    if (b == -0.5) return rsqrt(a);
    if (b == -1) return 1 / a;
  }
  return apply(kPow, {a, full_like(a, b)});
}
Value atan2(Value y, Value x) { return binary(kAtan2, y, x); }

Value maximum(Value a, Value b) { return binary(kMaximum, a, b); }
Value maximum(Value a, double b) { return apply(kMaximum, {a, full_like(a, b)}); }
Value minimum(Value a, Value b) { return binary(kMinimum, a, b); }
Value minimum(Value a, double b) { return apply(kMinimum, {a, full_like(a, b)}); }

Value bitwise_and(Value a, Value b) { return binary(kAnd, a, b); }
Value bitwise_or(Value a, Value b) { return binary(kOr, a, b); }
Value bitwise_xor(Value a, Value b) { return binary(kXor, a, b); }
Value logical_and(Value a, Value b) { return logical(kAnd, "logical_and", a, b); }
Value logical_or(Value a, Value b) { return logical(kOr, "logical_or", a, b); }
Value logical_xor(Value a, Value b) { return logical(kXor, "logical_xor", a, b); }

Value shift_left(Value a, Value bits) { return binary(kShiftLeft, a, bits); }
Value shift_left(Value a, double bits) { return apply(kShiftLeft, {a, full_like(a, bits)}); }
Value shift_right_logical(Value a, Value bits) { return binary(kShiftRightLogical, a, bits); }
Value shift_right_logical(Value a, double bits) {
  return apply(kShiftRightLogical, {a, full_like(a, bits)});
}
Value shift_right_arithmetic(Value a, Value bits) { return binary(kShiftRightArithmetic, a, bits); }
Value shift_right_arithmetic(Value a, double bits) {
  return apply(kShiftRightArithmetic, {a, full_like(a, bits)});
}

std::span<const OpDef* const> elementwise_internal::binary_ops() {
  static constexpr const OpDef* kOps[] = {&kAdd,
                                          &kSubtract,
                                          &kMultiply,
                                          &kDivide,
                                          &kRemainder,
                                          &kPow,
                                          &kAtan2,
                                          &kMaximum,
                                          &kMinimum,
                                          &kAnd,
                                          &kOr,
                                          &kXor,
                                          &kShiftLeft,
                                          &kShiftRightLogical,
                                          &kShiftRightArithmetic};
  return kOps;
}

}  // namespace tessera
