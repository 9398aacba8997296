#pragma once

#include <span>
#include <vector>

#include "tessera/ir/op.h"
#include "tessera/ops/dims.h"

namespace tessera {

// Moving elements about without changing them. Every dtype; gradients move the cotangent back.

/// The same elements in row-major order under other sizes; one size may be -1 and is then computed.
Value reshape(Value x, Dims dims);
/// Dimension i of the result is dimension permutation[i] of x: f32[2,3,5], {2,0,1} → f32[5,2,3].
Value transpose(Value x, const DimList& permutation);
/// Reverses the order of the dimensions.
Value transpose(Value x);
/// Exchanges two dimensions.
Value swap_dims(Value x, int a, int b);

/// Dimension i of x becomes dimension mapping[i] of the result, where a size 1 may grow; other
/// dimensions of the result repeat x. The mapping must increase.
Value broadcast_in_dim(Value x, Dims dims, Dims mapping);
/// NumPy broadcasting to `dims`: dimensions are matched from the end. Returns x when nothing
/// changes.
Value broadcast_to(Value x, const Dims& dims);
/// A dimension of size 1 at `dim` of the result: f32[2,3], -1 → f32[2,3,1].
Value expand_dims(Value x, int dim);
/// Removes dimensions, which must have size 1.
Value squeeze(Value x, const DimList& dims);

/// Elements start, start + stride, … below limit, in every dimension; strides of one when left out.
Value slice(Value x, Dims starts, Dims limits, Dims strides = {});
/// The same in one dimension; negative `start` and `limit` count from its end.
Value slice_in_dim(Value x, int dim, int64_t start, int64_t limit, int64_t stride = 1);

/// How many elements are added before, after and between those of one dimension. Negative low and
/// high take elements away; interior is not negative.
struct PadDim {
  int64_t low = 0;
  int64_t high = 0;
  int64_t interior = 0;
  bool operator==(const PadDim&) const = default;
};
/// One PadDim a dimension. `value` is a scalar of x's dtype; also a plain number.
Value pad(Value x, Value value, std::vector<PadDim> dims);
Value pad(Value x, double value, std::vector<PadDim> dims);

/// Joins along an existing dimension; all other sizes must agree: f32[2,3], f32[4,3], 0 → f32[6,3].
Value concatenate(std::span<const Value> values, int dim);
inline Value concatenate(std::initializer_list<Value> values, int dim) {
  return concatenate(std::span<const Value>(values.begin(), values.size()), dim);
}
/// Joins values of one shape along a new dimension at `dim` of the result: f32[3] twice, 0 →
/// f32[2,3].
Value stack(std::span<const Value> values, int dim = 0);
inline Value stack(std::initializer_list<Value> values, int dim = 0) {
  return stack(std::span<const Value>(values.begin(), values.size()), dim);
}
/// Cuts a dimension into parts of equal size, or of the given sizes, which must add up to it.
std::vector<Value> split(Value x, int parts, int dim);
std::vector<Value> split(Value x, std::span<const int64_t> sizes, int dim);

/// Turns the order of the elements round in each of `dims`.
Value reverse(Value x, const DimList& dims);

struct ReshapeAttrs {
  Dims dims;
};
struct TransposeAttrs {
  Dims permutation;
};
struct BroadcastAttrs {
  Dims dims;
  Dims mapping;
};
struct SliceAttrs {
  Dims starts, limits, strides;
};
struct PadAttrs {
  std::vector<PadDim> dims;
};
struct ConcatenateAttrs {
  int dim = 0;
};
struct ReverseAttrs {
  Dims dims;
};

extern const OpDef kReshape;         ///< ReshapeAttrs
extern const OpDef kTranspose;       ///< TransposeAttrs
extern const OpDef kBroadcastInDim;  ///< BroadcastAttrs
extern const OpDef kSlice;           ///< SliceAttrs
extern const OpDef kPad;             ///< PadAttrs; operands x, value
extern const OpDef kConcatenate;     ///< ConcatenateAttrs
extern const OpDef kReverse;         ///< ReverseAttrs

}  // namespace tessera
