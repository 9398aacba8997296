#pragma once

#include "tessera/ir/op.h"

namespace tessera {

// One element in, one out; shapes and, unless said otherwise, dtypes stay. Floats only unless said
// otherwise.

/// Signed integers and floats. The gradient of abs at 0 is 0.
Value abs(Value x);
/// -1, 0 or 1; 0 and NaN stay what they are. Signed integers and floats. Its gradient is zero.
Value sign(Value x);
/// -x; integers and floats.
Value neg(Value x);

Value exp(Value x);
/// exp(x) - 1, accurate near 0.
Value expm1(Value x);
Value log(Value x);
/// log(1 + x), accurate near 0.
Value log1p(Value x);
Value sqrt(Value x);
/// 1 / sqrt(x).
Value rsqrt(Value x);
Value sin(Value x);
Value cos(Value x);
Value tanh(Value x);
/// 1 / (1 + exp(-x)).
Value logistic(Value x);
Value erf(Value x);

/// To a whole number: down, up, or to the nearest with halves to the even one. Gradients are zero.
Value floor(Value x);
Value ceil(Value x);
Value round(Value x);

/// Neither infinite nor NaN: bool[...].
Value is_finite(Value x);
/// ~x of integers, not x of bool.
Value bitwise_not(Value x);
/// Bool only.
Value logical_not(Value x);
/// How many bits are one, and how many leading ones are zero. Integers.
Value popcount(Value x);
Value count_leading_zeros(Value x);

/// Each element as `dtype`. Floats round to nearest even, floats become integers by dropping the
/// fraction (a value out of range is undefined), bool becomes 0 or 1, and what is not 0 becomes
/// true. Returns x when nothing changes. The gradient flows between floats only.
Value convert(Value x, DType dtype);

/// The same bits as another dtype; no bool. With equal widths the shape stays. A dtype that is k
/// times narrower adds a last dimension of size k, lowest bits first; one that is k times wider
/// takes away the last dimension, whose size must be k: f32[3] → u8[3,4] → f32[3]. Its gradient is
/// zero.
Value bitcast(Value x, DType dtype);

/// x, through which no gradient flows. Every dtype.
Value stop_gradient(Value x);

/// max(x, 0); its gradient at 0 is 0.
Value relu(Value x);
/// x * logistic(x), also called swish.
Value silu(Value x);
/// x * Φ(x) with the normal distribution's Φ, by erf; or its usual approximation by tanh
/// (Hendrycks and Gimpel, 2016).
Value gelu(Value x, bool approximate = false);
/// log(1 + exp(x)), without overflow.
Value softplus(Value x);
Value square(Value x);

struct ConvertAttrs {
  DType dtype = DType::kF32;
};
struct BitcastAttrs {
  DType dtype = DType::kF32;
};

extern const OpDef kAbs, kSign, kNeg, kExp, kExpm1, kLog, kLog1p, kSqrt, kRsqrt, kSin, kCos, kTanh,
    kLogistic, kErf, kFloor, kCeil, kRound, kIsFinite, kNot, kPopcount, kCountLeadingZeros,
    kStopGradient;
extern const OpDef kConvert;  ///< ConvertAttrs
extern const OpDef kBitcast;  ///< BitcastAttrs

}  // namespace tessera
