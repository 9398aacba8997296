#pragma once

#include <cstdint>
#include <span>

#include "tessera/ir/op.h"

namespace tessera {

// Reading and writing at places that are known only when the program runs.
//
// The rule for indices out of range (negative ones are out of range, they do not count from the
// end):
//   dynamic_slice, dynamic_update_slice   the start is clamped, so that the slice lies inside;
//   take, take_along_dim                  by TakeMode: NaN by default, so that a wrong token id is
//                                         seen at once, or the nearest valid index;
//   scatter_add, scatter_add_along_dim    such an update is dropped;
//   one_hot                               all zeros.

/// What `take` gives for an index out of range.
enum class TakeMode : uint8_t {
  kFill,  ///< NaN; for integers all bits one (-1, or unsigned: the largest); false for bool
  kClip,  ///< the nearest valid index's element; the gradient goes there too
};

/// The numbers of StableHLO's gather: how an index vector and a window's place give a place in x.
/// Builders fill it; user code calls take and the like.
struct GatherDims {
  Dims offset_dims;          ///< dims of the result that walk in the window
  Dims collapsed_dims;       ///< dims of x whose window is 1 wide and that the result lacks
  Dims batch_dims;           ///< dims of x that go along with `index_batch_dims`
  Dims index_batch_dims;     ///< the dims of indices that they go along with
  Dims index_map;            ///< the dims of x that the components of an index vector address
  int64_t index_vector_dim;  ///< dim of indices that holds the vector; its rank when scalars
  Dims window;               ///< sizes of the window, one a dim of x
  bool unique = false;       ///< no place is addressed twice: scatters need no order
};

extern const OpDef kDynamicSlice;        // attrs: Dims, the sizes
extern const OpDef kDynamicUpdateSlice;  // no attrs
extern const OpDef kGather;              // attrs: GatherDims
extern const OpDef kScatterAdd;          // attrs: GatherDims, of the gather that it is adjoint to

/// The part of `x` of `sizes` that begins at `starts`, one integer scalar a dim, all of one dtype.
/// x: [D0,..], starts: rank(x) × s32[] → [sizes..].
Value dynamic_slice(Value x, std::span<const Value> starts, std::span<const int64_t> sizes);
/// `x` with `update` written at `starts`. x: [D0,..], update: [d0,..], d ≤ D → [D0,..].
Value dynamic_update_slice(Value x, Value update, std::span<const Value> starts);
/// dynamic_slice along one dim, the others whole. start: s32[] → x's shape with `size` at `dim`.
Value dynamic_slice_in_dim(Value x, Value start, int64_t size, int dim);
/// dynamic_update_slice along one dim, from 0 in the others.
Value dynamic_update_slice_in_dim(Value x, Value update, Value start, int dim);
/// x[.., index, ..]: one index along `dim`, which vanishes. index: s32[], clamped.
Value dynamic_index(Value x, Value index, int dim = 0);

/// The slices of x along `dim` that `indices` name; embedding lookup with dim 0.
/// x: [V,D], indices: s32[B,T] → [B,T,D]; in general indices' dims replace `dim`.
Value take(Value x, Value indices, int dim = 0, TakeMode mode = TakeMode::kFill);
/// out[.., i, ..] = x[.., indices[.., i, ..], ..] along `dim`.
/// x: [B,T,V], indices: s32[B,T,K], dim 2 → [B,T,K]: all other dims equal.
Value take_along_dim(Value x, Value indices, int dim, TakeMode mode = TakeMode::kFill);

/// `x` with `updates` added along `dim` at `indices`, as often as an index occurs: the adjoint of
/// take. x: [V,D], indices: s32[B,T], updates: [B,T,D] → [V,D]. The order of additions is not
/// promised, so results in floats may differ in the last bit between devices.
Value scatter_add(Value x, Value indices, Value updates, int dim = 0);
/// x[.., indices[.., i, ..], ..] += updates[.., i, ..]: the adjoint of take_along_dim.
Value scatter_add_along_dim(Value x, Value indices, Value updates, int dim);

/// 1 where the class is the index, else 0, in a new last dim. indices: s32[B,T] →
/// dtype[B,T,classes].
Value one_hot(Value indices, int64_t classes, DType dtype = DType::kF32);

/// The plain ops, for builders of other families. gather clamps index vectors, scatter_add drops
/// updates out of range.
Value gather(Value x, Value indices, GatherDims dims);
Value scatter_add_general(Value x, Value indices, Value updates, GatherDims dims);
/// The numbers of take_along_dim for an x of this shape; dim is not negative.
GatherDims along_dim(const Shape& x, int dim);

}  // namespace tessera
