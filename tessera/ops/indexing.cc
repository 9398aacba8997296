#include "tessera/ops/indexing.h"

#include "tessera/ops/constant.h"
#include "tessera/ops/dims.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/gather_internal.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using indexing_internal::fill_out_of_range;
using indexing_internal::widen;

// ---- dynamic_slice, dynamic_update_slice

void check_starts(std::span<const Shape> starts, const Shape& x) {
  if (static_cast<int>(starts.size()) != x.rank()) {
    fail("got ", starts.size(), " starts for rank ", x.rank(), ": one for each dim is needed");
  }
  for (const Shape& start : starts) {
    if (start.rank() != 0 || !is_integer(start.dtype) || start.dtype != starts[0].dtype) {
      fail("starts must be integer scalars of one dtype, got ", to_string(start));
    }
  }
}

std::vector<Shape> infer_dynamic_slice(const InferContext& c) {
  const Dims& sizes = c.attr<Dims>();
  const Shape& x = c.operands[0];
  check_starts(c.operands.subspan(1), x);
  if (sizes.size() != x.dims.size()) {
    fail("got ", sizes.size(), " sizes for rank ", x.rank(), ": one for each dim is needed");
  }
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (sizes[dim] < 0 || sizes[dim] > x.dim(dim)) {
      fail("size ", sizes[dim], " of dim ", dim, " must be in [0, ", x.dim(dim), "]");
    }
  }
  return {Shape{x.dtype, sizes}};
}

std::vector<Value> operands_from(const Vjp& v, int first) {
  std::vector<Value> values;
  for (int i = first; i < v.operands(); ++i) values.push_back(v.operand(i));
  return values;
}

// Both ops clamp starts in the same way, so writing the cotangent back hits what was read.
void vjp_dynamic_slice(Vjp& v) {
  if (!v.needs(0)) return;
  v.set_grad(0, dynamic_update_slice(zeros_like(v.operand(0)), v.cotangent(), operands_from(v, 1)));
}

std::vector<Shape> infer_dynamic_update_slice(const InferContext& c) {
  const Shape& x = c.operands[0];
  const Shape& update = c.operands[1];
  check_starts(c.operands.subspan(2), x);
  if (update.dtype != x.dtype) fail("the update's dtype must be the operand's: convert it");
  if (update.rank() != x.rank()) fail("the update's rank must be the operand's");
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (update.dim(dim) > x.dim(dim)) {
      fail("the update is ", update.dim(dim), " in dim ", dim, ", more than the operand's ",
           x.dim(dim));
    }
  }
  return {x};
}

void vjp_dynamic_update_slice(Vjp& v) {
  const std::vector<Value> starts = operands_from(v, 2);
  const Value update = v.operand(1);
  if (v.needs(0)) {
    v.set_grad(0, dynamic_update_slice(v.cotangent(), zeros_like(update), starts));
  }
  if (v.needs(1)) v.set_grad(1, dynamic_slice(v.cotangent(), starts, update.dims()));
}

std::vector<Value> with_starts(std::initializer_list<Value> first, std::span<const Value> starts) {
  std::vector<Value> operands(first);
  operands.insert(operands.end(), starts.begin(), starts.end());
  return operands;
}

// Zeros, but `start` at `dim`.
std::vector<Value> starts_in_dim(Value x, Value start, int dim) {
  std::vector<Value> starts(x.rank(), scalar_like(start, 0));
  starts[dim] = start;
  return starts;
}

void check_integer_scalar(std::string_view op, Value x, Value index) {
  if (!index.defined() || index.rank() != 0 || !is_integer(index.dtype())) {
    fail_at(op, x, "the index must be an integer scalar, got ",
            index.defined() ? to_string(index.shape()) : "an undefined value");
  }
}

// ---- take and its adjoint

void check_indices(std::string_view op, Value x, Value indices) {
  if (!x.defined() || !indices.defined()) fail_at(op, x, "an operand is undefined");
  if (!is_integer(indices.dtype())) {
    fail_at(op, x, "indices must be integers, got ", to_string(indices.shape()));
  }
}

// Whole slices of x at places along `dim`; the index array's dims stand where `dim` was.
GatherDims take_dims(const Shape& x, int dim, int indices_rank) {
  GatherDims dims{.collapsed_dims = {dim},
                  .index_map = {dim},
                  .index_vector_dim = indices_rank,
                  .window = x.dims};
  dims.window[dim] = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != dim) dims.offset_dims.push_back(i < dim ? i : i - 1 + indices_rank);
  }
  return dims;
}

void check_along(std::string_view op, Value x, Value indices, int dim) {
  bool fits = x.rank() == indices.rank();
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == dim || x.dim(i) == indices.dim(i);
  if (!fits) {
    fail_at(op, x, "indices ", to_string(indices.shape()),
            " must have the operand's rank and, except in dim ", dim, ", its sizes");
  }
}

}  // namespace

const OpDef kDynamicSlice = {
    .name = "dynamic_slice", .infer = infer_dynamic_slice, .vjp = vjp_dynamic_slice};
const OpDef kDynamicUpdateSlice = {.name = "dynamic_update_slice",
                                   .infer = infer_dynamic_update_slice,
                                   .vjp = vjp_dynamic_update_slice};

std::span<const OpDef* const> indexing_ops() {
  static const OpDef* const kOps[] = {&kDynamicSlice, &kDynamicUpdateSlice, &kGather, &kScatterAdd};
  return kOps;
}

Value dynamic_slice(Value x, std::span<const Value> starts, std::span<const int64_t> sizes) {
  return tessera::apply(kDynamicSlice, with_starts({x}, starts), Dims(sizes.begin(), sizes.end()));
}

Value dynamic_update_slice(Value x, Value update, std::span<const Value> starts) {
  return tessera::apply(kDynamicUpdateSlice, with_starts({x, update}, starts));
}

Value dynamic_slice_in_dim(Value x, Value start, int64_t size, int dim) {
  dim = normalize_dim("dynamic_slice_in_dim", x, dim);
  check_integer_scalar("dynamic_slice_in_dim", x, start);
  Dims sizes = x.dims();
  sizes[dim] = size;
  return dynamic_slice(x, starts_in_dim(x, start, dim), sizes);
}

Value dynamic_update_slice_in_dim(Value x, Value update, Value start, int dim) {
  dim = normalize_dim("dynamic_update_slice_in_dim", x, dim);
  check_integer_scalar("dynamic_update_slice_in_dim", x, start);
  return dynamic_update_slice(x, update, starts_in_dim(x, start, dim));
}

Value dynamic_index(Value x, Value index, int dim) {
  dim = normalize_dim("dynamic_index", x, dim);
  check_integer_scalar("dynamic_index", x, index);
  return squeeze(dynamic_slice_in_dim(x, index, 1, dim), dim);
}

Value take(Value x, Value indices, int dim, TakeMode mode) {
  check_indices("take", x, indices);
  dim = normalize_dim("take", x, dim);
  indices = widen(indices);
  const GatherDims dims = take_dims(x.shape(), dim, indices.rank());
  const Value taken = gather(x, indices, dims);
  return mode == TakeMode::kClip ? taken : fill_out_of_range(taken, x, indices, dims);
}

GatherDims along_dim(const Shape& x, int dim) {
  GatherDims dims{.collapsed_dims = {dim},
                  .index_map = {dim},
                  .index_vector_dim = x.rank(),
                  .window = Dims(x.dims.size(), 1)};
  for (int i = 0; i < x.rank(); ++i) {
    if (i == dim) continue;
    dims.batch_dims.push_back(i);
    dims.index_batch_dims.push_back(i);
  }
  return dims;
}

Value take_along_dim(Value x, Value indices, int dim, TakeMode mode) {
  check_indices("take_along_dim", x, indices);
  dim = normalize_dim("take_along_dim", x, dim);
  check_along("take_along_dim", x, indices, dim);
  indices = widen(indices);
  const GatherDims dims = along_dim(x.shape(), dim);
  const Value taken = gather(x, indices, dims);
  return mode == TakeMode::kClip ? taken : fill_out_of_range(taken, x, indices, dims);
}

Value scatter_add(Value x, Value indices, Value updates, int dim) {
  check_indices("scatter_add", x, indices);
  dim = normalize_dim("scatter_add", x, dim);
  return scatter_add_general(x, indices, updates, take_dims(x.shape(), dim, indices.rank()));
}

Value scatter_add_along_dim(Value x, Value indices, Value updates, int dim) {
  check_indices("scatter_add_along_dim", x, indices);
  dim = normalize_dim("scatter_add_along_dim", x, dim);
  check_along("scatter_add_along_dim", x, indices, dim);
  return scatter_add_general(x, indices, updates, along_dim(x.shape(), dim));
}

Value one_hot(Value indices, int64_t classes, DType dtype) {
  check_indices("one_hot", indices, indices);
  if (classes < 0) fail_at("one_hot", indices, classes, " classes: give a number of at least 0");
  indices = widen(indices);
  const Value numbers = iota(indices.graph(), Shape{indices.dtype(), {classes}}, 0);
  return convert(equal(expand_dims(indices, -1), numbers), dtype);
}

}  // namespace tessera
