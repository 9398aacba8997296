// The two ops below take and its adjoint, in StableHLO's general form: each other's gradient.

#include <algorithm>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/gather_internal.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

bool contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

void check_gather(const Shape& x, const Shape& indices, const GatherDims& dims) {
  if (!is_integer(indices.dtype)) fail("indices must be integers, got ", to_string(indices));
  if (static_cast<int>(dims.window.size()) != x.rank()) {
    fail("the window has ", dims.window.size(), " sizes, the operand's rank is ", x.rank());
  }
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (dims.window[dim] < 0 || dims.window[dim] > x.dim(dim)) {
      fail("the window is ", dims.window[dim], " in dim ", dim, ", the operand ", x.dim(dim));
    }
  }
  const bool scalars = dims.index_vector_dim == indices.rank();
  if (dims.index_vector_dim < 0 || dims.index_vector_dim > indices.rank()) {
    fail("index_vector_dim ", dims.index_vector_dim, " must be in [0, ", indices.rank(), "]");
  }
  const int64_t components = scalars ? 1 : indices.dim(static_cast<int>(dims.index_vector_dim));
  if (components != static_cast<int64_t>(dims.index_map.size())) {
    fail("index vectors have ", components, " components, the map names ", dims.index_map.size());
  }
  if (dims.batch_dims.size() != dims.index_batch_dims.size()) {
    fail("batch dims of the operand and of the indices must pair up");
  }
  for (size_t i = 0; i < dims.batch_dims.size(); ++i) {
    const int64_t a = x.dim(static_cast<int>(dims.batch_dims[i]));
    const int64_t b = indices.dim(static_cast<int>(dims.index_batch_dims[i]));
    if (a != b) fail("batch sizes differ: ", a, " of the operand, ", b, " of the indices");
  }
}

// Windows' dims stand at offset_dims, the dims of indices (but its vectors) at the others, in
// order.
Shape gathered_shape(const Shape& x, const Shape& indices, const GatherDims& dims) {
  check_gather(x, indices, dims);
  Dims window;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (!contains(dims.collapsed_dims, dim) && !contains(dims.batch_dims, dim)) {
      window.push_back(dims.window[dim]);
    }
  }
  if (window.size() != dims.offset_dims.size()) {
    fail(dims.offset_dims.size(), " offset dims for windows of rank ", window.size());
  }
  Dims batch;
  for (int dim = 0; dim < indices.rank(); ++dim) {
    if (dim != dims.index_vector_dim) batch.push_back(indices.dim(dim));
  }
  Shape result{x.dtype, {}};
  size_t next_window = 0, next_batch = 0;
  for (size_t dim = 0; dim < window.size() + batch.size(); ++dim) {
    const bool offset = contains(dims.offset_dims, static_cast<int64_t>(dim));
    result.dims.push_back(offset ? window[next_window++] : batch[next_batch++]);
  }
  return result;
}

std::vector<Shape> infer_gather(const InferContext& c) {
  return {gathered_shape(c.operands[0], c.operands[1], c.attr<GatherDims>())};
}

std::vector<Shape> infer_scatter_add(const InferContext& c) {
  const Shape& x = c.operands[0];
  const Shape& updates = c.operands[2];
  if (is_bool(x.dtype)) fail("cannot add bool: convert the operand to an integer");
  const Shape expected = gathered_shape(x, c.operands[1], c.attr<GatherDims>());
  if (updates != expected) {
    fail("updates are ", to_string(updates), ", must be ", to_string(expected));
  }
  return {x};
}

// The largest valid value of each component of an index vector, as far as the dtype reaches.
std::vector<int64_t> limits(const Shape& x, DType dtype, const GatherDims& dims) {
  std::vector<int64_t> result;
  for (int64_t dim : dims.index_map) {
    int64_t limit = x.dim(static_cast<int>(dim)) - dims.window[dim];
    if (dtype_bits(dtype) == 32) {
      const bool is_signed = is_signed_integer(dtype);
      limit = std::min<int64_t>(limit, is_signed ? std::numeric_limits<int32_t>::max()
                                                 : std::numeric_limits<uint32_t>::max());
    }
    result.push_back(limit);
  }
  return result;
}

// The limits in a shape that broadcasts against the indices.
Value limit_value(Value x, Value indices, const GatherDims& dims) {
  const std::vector<int64_t> bounds = limits(x.shape(), indices.dtype(), dims);
  Dims shape(indices.rank(), 1);
  if (dims.index_vector_dim == indices.rank()) {
    shape.clear();
  } else {
    shape[dims.index_vector_dim] = static_cast<int64_t>(bounds.size());
  }
  const std::vector<double> numbers(bounds.begin(), bounds.end());
  if (shape.empty()) return scalar_like(indices, numbers[0]);
  return constant(indices.graph(), from_doubles(Shape{indices.dtype(), shape}, numbers));
}

Value clamp_indices(Value x, Value indices, const GatherDims& dims) {
  const Value top = minimum(indices, limit_value(x, indices, dims));
  return is_signed_integer(indices.dtype()) ? maximum(top, 0) : top;
}

// Where index vectors are in range, in the shape of what is gathered.
Value in_range(Value gathered, Value x, Value indices, const GatherDims& dims) {
  Value valid = less_equal(indices, limit_value(x, indices, dims));
  if (is_signed_integer(indices.dtype())) valid = logical_and(valid, greater_equal(indices, 0));
  if (dims.index_vector_dim < indices.rank()) {
    valid = all(valid, static_cast<int>(dims.index_vector_dim));
  }
  Dims mapping;
  for (int dim = 0; dim < gathered.rank(); ++dim) {
    if (!contains(dims.offset_dims, dim)) mapping.push_back(dim);
  }
  return broadcast_in_dim(valid, gathered.dims(), mapping);
}

// gather clamps, scatter_add drops: each one's gradient must see the indices as the op saw them.
void vjp_gather(Vjp& v) {
  if (!v.needs(0)) return;
  const GatherDims& dims = v.attr<GatherDims>();
  const Value x = v.operand(0);
  const Value indices = clamp_indices(x, v.operand(1), dims);
  v.set_grad(0, scatter_add_general(zeros_like(x), indices, v.cotangent(), dims));
}

void vjp_scatter_add(Vjp& v) {
  const GatherDims& dims = v.attr<GatherDims>();
  if (v.needs(0)) v.set_grad(0, v.cotangent());
  if (!v.needs(2)) return;
  const Value indices = v.operand(1);
  const Value grad = gather(v.cotangent(), indices, dims);
  v.set_grad(2, select(in_range(grad, v.operand(0), indices, dims), grad, zeros_like(grad)));
}

// NaN, or all bits one: -1, the largest unsigned number.
Value fill_value(Value like) {
  if (is_floating(like.dtype())) {
    return scalar_like(like, std::numeric_limits<double>::quiet_NaN());
  }
  const Value zero = scalar_like(like, 0);
  return is_bool(like.dtype()) ? zero : bitwise_not(zero);
}

}  // namespace

namespace indexing_internal {

Value widen(Value indices) {
  return dtype_bits(indices.dtype()) < 32 ? convert(indices, DType::kS32) : indices;
}

Value fill_out_of_range(Value gathered, Value x, Value indices, const GatherDims& dims) {
  return select(in_range(gathered, x, indices, dims), gathered, fill_value(gathered));
}

}  // namespace indexing_internal

const OpDef kGather = {.name = "gather", .infer = infer_gather, .vjp = vjp_gather};
const OpDef kScatterAdd = {
    .name = "scatter_add", .infer = infer_scatter_add, .vjp = vjp_scatter_add};

Value gather(Value x, Value indices, GatherDims dims) {
  return apply(kGather, {x, indexing_internal::widen(indices)}, std::move(dims));
}

Value scatter_add_general(Value x, Value indices, Value updates, GatherDims dims) {
  return apply(kScatterAdd, {x, indexing_internal::widen(indices), updates}, std::move(dims));
}

}  // namespace tessera
