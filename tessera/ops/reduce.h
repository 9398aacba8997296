#pragma once

#include "tessera/ir/op.h"
#include "tessera/ops/dims.h"

namespace tessera {

// Reductions. `dims` are removed from the shape, or kept with size 1 when `keepdims`:
// f32[2,3,5], {0,-1} → f32[3], or f32[1,3,1].
//
// Sums and products of bf16, f16 and the f8 types accumulate in f32 and round once, at the end.

/// Integers and floats. Integers wrap.
Value sum(Value x, const DimList& dims = kAllDims, bool keepdims = false);
Value prod(Value x, const DimList& dims = kAllDims, bool keepdims = false);
/// Floats only.
Value mean(Value x, const DimList& dims = kAllDims, bool keepdims = false);
/// Integers and floats; for NaN see README.md. No reduced dimension may be empty. Elements that
/// share the maximum share its cotangent equally.
Value max(Value x, const DimList& dims = kAllDims, bool keepdims = false);
Value min(Value x, const DimList& dims = kAllDims, bool keepdims = false);
/// Bool only: whether all, or any, are true.
Value all(Value x, const DimList& dims = kAllDims, bool keepdims = false);
Value any(Value x, const DimList& dims = kAllDims, bool keepdims = false);
/// Bool and integers: bitwise and, or of the elements.
Value reduce_and(Value x, const DimList& dims = kAllDims, bool keepdims = false);
Value reduce_or(Value x, const DimList& dims = kAllDims, bool keepdims = false);

/// Where the greatest, or least, element along `dim` stands: the first of equal ones, and the first
/// NaN if there is one, as in NumPy. The result has the integer dtype `index`.
Value argmax(Value x, int dim, bool keepdims = false, DType index = DType::kS32);
Value argmin(Value x, int dim, bool keepdims = false, DType index = DType::kS32);

/// Running sum along `dim`, from its end when `reverse`; x's shape. Integers and floats.
Value cumsum(Value x, int dim, bool reverse = false);

/// log(sum(exp(x))), without overflow; -inf for a row of -inf. Floats.
Value logsumexp(Value x, const DimList& dims = kAllDims, bool keepdims = false);
/// exp(x) / sum(exp(x)) along `dim`, without overflow; x's shape. Types narrower than f32 are
/// computed in f32.
Value softmax(Value x, int dim = -1);
/// log(softmax(x)) = x - logsumexp(x), without its loss of accuracy.
Value log_softmax(Value x, int dim = -1);

struct ReduceAttrs {
  Dims dims;  ///< increasing
};
struct ArgReduceAttrs {
  int dim = 0;
  DType index = DType::kS32;
};
struct CumsumAttrs {
  int dim = 0;
  bool reverse = false;
};
struct SoftmaxAttrs {
  int dim = 0;
};

extern const OpDef kReduceSum;  ///< ReduceAttrs, as the following
extern const OpDef kReduceProd;
extern const OpDef kReduceMax;
extern const OpDef kReduceMin;
extern const OpDef kReduceAnd;
extern const OpDef kReduceOr;
extern const OpDef kArgmax;   ///< ArgReduceAttrs
extern const OpDef kArgmin;   ///< ArgReduceAttrs
extern const OpDef kCumsum;   ///< CumsumAttrs
extern const OpDef kSoftmax;  ///< SoftmaxAttrs

}  // namespace tessera
