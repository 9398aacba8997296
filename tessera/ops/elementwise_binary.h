#pragma once

#include "tessera/ir/op.h"

namespace tessera {

// Two elements or more in, one out. Shapes follow NumPy's broadcasting: f32[8,1,3] with f32[4,1] is
// f32[8,4,3]. Dtypes must be equal: nothing is promoted silently, convert() says what is meant. A
// plain number takes the dtype of the value beside it, and must be one of its values if it is an
// integer.

/// Integers and floats. Integers wrap; their quotient drops the fraction.
Value operator+(Value a, Value b);
Value operator+(Value a, double b);
Value operator+(double a, Value b);
Value operator-(Value a, Value b);
Value operator-(Value a, double b);
Value operator-(double a, Value b);
Value operator*(Value a, Value b);
Value operator*(Value a, double b);
Value operator*(double a, Value b);
Value operator/(Value a, Value b);
Value operator/(Value a, double b);
Value operator/(double a, Value b);
/// -x.
Value operator-(Value x);

/// The names of the operators.
inline Value add(Value a, Value b) { return a + b; }
inline Value subtract(Value a, Value b) { return a - b; }
inline Value multiply(Value a, Value b) { return a * b; }
inline Value divide(Value a, Value b) { return a / b; }

/// What is left of a / b with the quotient rounded towards zero: it has a's sign, as C's fmod and
/// %. Integers and floats.
Value remainder(Value a, Value b);
Value remainder(Value a, double b);
/// a to the power b. Integers and floats. Where a is 0, the gradient of b is 0.
Value pow(Value a, Value b);
/// Exponents 2, 1, 0.5, -0.5 and -1 of floats become multiplication, x, sqrt, rsqrt and division.
Value pow(Value a, double b);
/// The angle of the point (x, y), in (-π, π]. Floats.
Value atan2(Value y, Value x);

/// Integers and floats; for NaN see README.md. Equal a and b get half of the cotangent each.
Value maximum(Value a, Value b);
Value maximum(Value a, double b);
Value minimum(Value a, Value b);
Value minimum(Value a, double b);
/// min(max(x, low), high). x gets the cotangent where it lies strictly between the bounds, low
/// where low > x, high where high < x.
Value clamp(Value x, Value low, Value high);
Value clamp(Value x, double low, double high);

/// Bits of integers, or truth values of bool.
Value bitwise_and(Value a, Value b);
Value bitwise_or(Value a, Value b);
Value bitwise_xor(Value a, Value b);
/// Bool only.
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_xor(Value a, Value b);
/// Integers. A shift by the width or more gives 0, or all sign bits if arithmetic.
Value shift_left(Value a, Value bits);
Value shift_left(Value a, double bits);
Value shift_right_logical(Value a, Value bits);
Value shift_right_logical(Value a, double bits);
Value shift_right_arithmetic(Value a, Value bits);
Value shift_right_arithmetic(Value a, double bits);

/// → bool[...]. Every dtype, the same on both sides. Comparisons with NaN are false, except
/// not_equal.
Value equal(Value a, Value b);
Value equal(Value a, double b);
Value not_equal(Value a, Value b);
Value not_equal(Value a, double b);
Value less(Value a, Value b);
Value less(Value a, double b);
Value less_equal(Value a, Value b);
Value less_equal(Value a, double b);
Value greater(Value a, Value b);
Value greater(Value a, double b);
Value greater_equal(Value a, Value b);
Value greater_equal(Value a, double b);

/// on_true where `condition` (bool) holds, on_false elsewhere; all three broadcast together. The
/// branch that is not taken gets a zero cotangent.
Value select(Value condition, Value on_true, Value on_false);
Value select(Value condition, Value on_true, double on_false);
Value select(Value condition, double on_true, Value on_false);

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };
struct CompareAttrs {
  Comparison direction = Comparison::kEqual;
};

extern const OpDef kAdd, kSubtract, kMultiply, kDivide, kRemainder, kPow, kAtan2, kMaximum,
    kMinimum, kAnd, kOr, kXor, kShiftLeft, kShiftRightLogical, kShiftRightArithmetic;
extern const OpDef kClamp;    ///< operands low, x, high
extern const OpDef kCompare;  ///< CompareAttrs
extern const OpDef kSelect;   ///< operands condition, on_true, on_false

}  // namespace tessera
