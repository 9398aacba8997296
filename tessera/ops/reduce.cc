#include "tessera/ops/reduce.h"

#include <algorithm>
#include <limits>

#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/elementwise_internal.h"
#include "tessera/ops/reduce_internal.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {

using elementwise_internal::check_dtype;
using elementwise_internal::kBools;
using elementwise_internal::kFloats;
using elementwise_internal::kIntegers;
using elementwise_internal::kNumbers;

namespace {

Shape without_dims(const Shape& x, std::span<const int64_t> dims) {
  Shape result{x.dtype, {}};
  for (int i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(dims, i) == dims.end()) result.dims.push_back(x.dims[i]);
  }
  return result;
}

template <int kinds, bool needs_elements = false>
std::vector<Shape> infer_reduce(const InferContext& c) {
  const Shape& x = c.operands[0];
  const Dims& dims = c.attr<ReduceAttrs>().dims;
  check_dtype(x.dtype, kinds);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= x.rank() || (i > 0 && dims[i] <= dims[i - 1])) {
      fail("dims ", dims_to_string(dims), " must increase within rank ", x.rank());
    }
    if (needs_elements && x.dims[dims[i]] == 0) {
      fail("dim ", dims[i], " is empty, and nothing has no extreme");
    }
  }
  return {without_dims(x, dims)};
}

// The value of the result back at each element that it came from.
Value spread(Value y, const Shape& to, const Dims& dims) {
  Dims mapping;
  for (int i = 0; i < to.rank(); ++i) {
    if (std::ranges::find(dims, i) == dims.end()) mapping.push_back(i);
  }
  return broadcast_in_dim(y, to.dims, std::move(mapping));
}

std::vector<int> to_ints(const Dims& dims) { return {dims.begin(), dims.end()}; }

// All that reach the extreme share its cotangent.
void vjp_extreme(Vjp& v) {
  const Dims& dims = v.attr<ReduceAttrs>().dims;
  const Value x = v.operand(0);
  const Value reached = equal(x, spread(v.output(), x.shape(), dims));
  const Value count = sum(convert(reached, x.dtype()), to_ints(dims));
  const Value share = spread(v.cotangent() / count, x.shape(), dims);
  v.set_grad(0, select(reached, share, 0));
}

std::vector<Shape> infer_argreduce(const InferContext& c) {
  const Shape& x = c.operands[0];
  const auto& [dim, index] = c.attr<ArgReduceAttrs>();
  check_dtype(x.dtype, kNumbers);
  if (!is_integer(index)) fail("the index dtype must be an integer, got ", dtype_name(index));
  if (dim < 0 || dim >= x.rank()) fail("dim ", dim, " is out of range for rank ", x.rank());
  const int index_bits = dtype_bits(index) - is_signed_integer(index);
  if (index_bits < 63 && x.dims[dim] > int64_t{1} << index_bits) {
    fail("dtype ", dtype_name(index), " cannot count the ", x.dims[dim], " elements of dim ", dim);
  }
  if (x.dims[dim] == 0) fail("dim ", dim, " is empty, and nothing has no extreme");
  const Dims dims = {dim};
  return {without_dims(x, dims).with_dtype(index)};
}

template <typename Attrs, int kinds>
std::vector<Shape> infer_along_dim(const InferContext& c) {
  const Shape& x = c.operands[0];
  check_dtype(x.dtype, kinds);
  const int dim = c.attr<Attrs>().dim;
  if (dim < 0 || dim >= x.rank()) fail("dim ", dim, " is out of range for rank ", x.rank());
  return {x};
}

void vjp_cumsum(Vjp& v) {
  const auto& [dim, reverse] = v.attr<CumsumAttrs>();
  v.set_grad(0, cumsum(v.cotangent(), dim, !reverse));
}

void vjp_softmax(Vjp& v) {
  const int dim = v.attr<SoftmaxAttrs>().dim;
  const Value y = v.output();
  v.set_grad(0, y * (v.cotangent() - sum(v.cotangent() * y, dim, /*keepdims=*/true)));
}

Value restore_dims(Value y, Value x, const Dims& dims, bool keepdims) {
  if (!keepdims) return y;
  Dims kept = x.dims();
  for (int64_t dim : dims) kept[dim] = 1;
  return reshape(y, std::move(kept));
}

Value reduce(const OpDef& op, Value x, const DimList& dims, bool keepdims) {
  Dims sorted = normalize_dims(op.name, x, dims);
  std::ranges::sort(sorted);
  const Value y = apply(op, {x}, ReduceAttrs{sorted});
  return restore_dims(y, x, sorted, keepdims);
}

Value arg_reduce(const OpDef& op, Value x, int dim, bool keepdims, DType index) {
  dim = normalize_dim(op.name, x, dim);
  const Value y = apply(op, {x}, ArgReduceAttrs{dim, index});
  return restore_dims(y, x, {dim}, keepdims);
}

void check_bool(std::string_view op, Value x) {
  if (x.defined() && !is_bool(x.dtype())) {
    fail_at(op, x, "needs bool, got ", dtype_name(x.dtype()),
            ": compare it, for example with not_equal(x, 0)");
  }
}

void check_float(std::string_view op, Value x) {
  if (!x.defined()) fail_at(op, x, "");
  if (!is_floating(x.dtype())) {
    fail_at(op, x, "needs a floating dtype, got ", dtype_name(x.dtype()),
            ": convert it with convert(x, DType::kF32)");
  }
}

// The greatest element, for shifting exponents. It does not alter the result that it is used in, so
// nothing flows back through it. Where it is infinite, subtracting it would give NaN.
Value finite_max(Value x, const DimList& dims) {
  const Value greatest = stop_gradient(max(x, dims, /*keepdims=*/true));
  return select(is_finite(greatest), greatest, 0);
}

}  // namespace

const OpDef kReduceSum = {
    .name = "sum", .infer = infer_reduce<kNumbers>, .vjp = [](Vjp& v) {
      v.set_grad(0, spread(v.cotangent(), v.operand(0).shape(), v.attr<ReduceAttrs>().dims));
    }};
const OpDef kReduceProd = {
    .name = "prod", .infer = infer_reduce<kNumbers>, .vjp = reduce_internal::vjp_prod};
const OpDef kReduceMax = {.name = "max", .infer = infer_reduce<kNumbers, true>, .vjp = vjp_extreme};
const OpDef kReduceMin = {.name = "min", .infer = infer_reduce<kNumbers, true>, .vjp = vjp_extreme};
const OpDef kReduceAnd = {.name = "reduce_and",
                          .infer = infer_reduce<kIntegers | kBools>,
                          .no_gradient = "it works on bits",
                          .zero_gradient = true};
const OpDef kReduceOr = {.name = "reduce_or",
                         .infer = infer_reduce<kIntegers | kBools>,
                         .no_gradient = "it works on bits",
                         .zero_gradient = true};
const OpDef kArgmax = {.name = "argmax",
                       .infer = infer_argreduce,
                       .no_gradient = "its result is an index",
                       .zero_gradient = true};
const OpDef kArgmin = {.name = "argmin",
                       .infer = infer_argreduce,
                       .no_gradient = "its result is an index",
                       .zero_gradient = true};
const OpDef kCumsum = {
    .name = "cumsum", .infer = infer_along_dim<CumsumAttrs, kNumbers>, .vjp = vjp_cumsum};
const OpDef kSoftmax = {
    .name = "softmax", .infer = infer_along_dim<SoftmaxAttrs, kFloats>, .vjp = vjp_softmax};

Value sum(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceSum, x, dims, keepdims);
}
Value prod(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceProd, x, dims, keepdims);
}
Value max(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceMax, x, dims, keepdims);
}
Value min(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceMin, x, dims, keepdims);
}
Value reduce_and(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceAnd, x, dims, keepdims);
}
Value reduce_or(Value x, const DimList& dims, bool keepdims) {
  return reduce(kReduceOr, x, dims, keepdims);
}
Value all(Value x, const DimList& dims, bool keepdims) {
  check_bool("all", x);
  return reduce(kReduceAnd, x, dims, keepdims);
}
Value any(Value x, const DimList& dims, bool keepdims) {
  check_bool("any", x);
  return reduce(kReduceOr, x, dims, keepdims);
}

Value mean(Value x, const DimList& dims, bool keepdims) {
  int64_t count = 1;
  for (int64_t dim : normalize_dims("mean", x, dims)) count *= x.dims()[dim];
  check_float("mean", x);
  // The quotient too is taken in f32, so that a narrow type rounds once.
  const bool narrow = dtype_bits(x.dtype()) < 32;
  const Value total = sum(narrow ? convert(x, DType::kF32) : x, dims, keepdims);
  return convert(total / static_cast<double>(count), x.dtype());
}

Value argmax(Value x, int dim, bool keepdims, DType index) {
  return arg_reduce(kArgmax, x, dim, keepdims, index);
}
Value argmin(Value x, int dim, bool keepdims, DType index) {
  return arg_reduce(kArgmin, x, dim, keepdims, index);
}

Value cumsum(Value x, int dim, bool reverse) {
  return apply(kCumsum, {x}, CumsumAttrs{normalize_dim("cumsum", x, dim), reverse});
}

Value logsumexp(Value x, const DimList& dims, bool keepdims) {
  const Dims reduced = normalize_dims("logsumexp", x, dims);
  check_float("logsumexp", x);
  const Value shift = finite_max(x, dims);
  const Value y = log(sum(exp(x - shift), dims, /*keepdims=*/true)) + shift;
  return keepdims ? y : squeeze(y, to_ints(reduced));
}

Value softmax(Value x, int dim) {
  return apply(kSoftmax, {x}, SoftmaxAttrs{normalize_dim("softmax", x, dim)});
}

// Not x - logsumexp(x), which cancels where all of x is large.
Value log_softmax(Value x, int dim) {
  check_float("log_softmax", x);
  const Value shifted = x - finite_max(x, dim);
  return shifted - log(sum(exp(shifted), dim, /*keepdims=*/true));
}

std::span<const OpDef* const> reduce_ops() {
  static constexpr const OpDef* kOps[] = {&kReduceSum, &kReduceProd, &kReduceMax, &kReduceMin,
                                          &kReduceAnd, &kReduceOr,   &kArgmax,    &kArgmin,
                                          &kCumsum,    &kSoftmax};
  return kOps;
}

}  // namespace tessera
