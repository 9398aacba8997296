// Slices and padding: each is the other's gradient.
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

std::vector<Shape> infer_slice(const InferContext& c) {
  const Shape& x = c.operands[0];
  const auto& [starts, limits, strides] = c.attr<SliceAttrs>();
  const auto rank = static_cast<size_t>(x.rank());
  if (starts.size() != rank || limits.size() != rank || strides.size() != rank) {
    fail("needs a start, a limit and a stride for each of the ", rank, " dimensions, got ",
         dims_to_string(starts), ", ", dims_to_string(limits), ", ", dims_to_string(strides));
  }
  Shape result{x.dtype, {}};
  for (size_t i = 0; i < rank; ++i) {
    if (starts[i] < 0 || starts[i] > limits[i] || limits[i] > x.dims[i]) {
      fail("in dim ", i, " elements ", starts[i], " to ", limits[i],
           " do not lie within its size of ", x.dims[i]);
    }
    if (strides[i] < 1) fail("the stride of dim ", i, " must be at least 1, got ", strides[i]);
    result.dims.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  return {result};
}

// Puts the cotangent back where the elements came from, among zeros.
void vjp_slice(Vjp& v) {
  const auto& [starts, limits, strides] = v.attr<SliceAttrs>();
  const Dims& to = v.operand(0).dims();
  const Dims& from = v.output().dims();
  std::vector<PadDim> dims;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t covered = from[i] == 0 ? 0 : (from[i] - 1) * strides[i] + 1;
    dims.push_back({starts[i], to[i] - starts[i] - covered, strides[i] - 1});
  }
  v.set_grad(0, pad(v.cotangent(), 0, std::move(dims)));
}

std::vector<Shape> infer_pad(const InferContext& c) {
  const Shape& x = c.operands[0];
  const auto& dims = c.attr<PadAttrs>().dims;
  if (c.operands[1] != Shape{x.dtype, {}}) {
    fail("the value must be a scalar of dtype ", dtype_name(x.dtype), ", got ",
         to_string(c.operands[1]));
  }
  if (static_cast<int>(dims.size()) != x.rank()) {
    fail("needs padding for each of the ", x.rank(), " dimensions, got ", dims.size());
  }
  Shape result{x.dtype, {}};
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto& [low, high, interior] = dims[i];
    if (interior < 0) fail("interior padding of dim ", i, " must not be negative, got ", interior);
    const int64_t between = x.dims[i] > 0 ? (x.dims[i] - 1) * interior : 0;
    const int64_t size = x.dims[i] + between + low + high;
    if (size < 0) {
      fail("padding of dim ", i, " by low ", low, " and high ", high, " leaves a size of ", size);
    }
    result.dims.push_back(size);
  }
  return {result};
}

// Takes the padding away again: first the edges, then what lies between the elements.
Value unpad(Value g, const std::vector<PadDim>& dims, const Dims& to) {
  std::vector<PadDim> edges;
  for (const PadDim& dim : dims) edges.push_back({-dim.low, -dim.high, 0});
  g = pad(g, 0, std::move(edges));
  if (g.dims() == to) return g;
  Dims strides;
  for (const PadDim& dim : dims) strides.push_back(dim.interior + 1);
  return slice(g, Dims(to.size(), 0), g.dims(), std::move(strides));
}

void vjp_pad(Vjp& v) {
  const Value x = unpad(v.cotangent(), v.attr<PadAttrs>().dims, v.operand(0).dims());
  if (v.needs(0)) v.set_grad(0, x);
  if (v.needs(1)) v.set_grad(1, sum(v.cotangent()) - sum(x));
}

}  // namespace

const OpDef kSlice = {.name = "slice", .infer = infer_slice, .vjp = vjp_slice};
const OpDef kPad = {.name = "pad", .infer = infer_pad, .vjp = vjp_pad};

Value slice(Value x, Dims starts, Dims limits, Dims strides) {
  if (strides.empty()) strides.assign(starts.size(), 1);
  return apply(kSlice, {x}, SliceAttrs{std::move(starts), std::move(limits), std::move(strides)});
}

Value slice_in_dim(Value x, int dim, int64_t start, int64_t limit, int64_t stride) {
  dim = normalize_dim("slice_in_dim", x, dim);
  Dims starts(x.rank(), 0);
  Dims limits = x.dims();
  Dims strides(x.rank(), 1);
  starts[dim] = start < 0 ? start + x.dim(dim) : start;
  limits[dim] = limit < 0 ? limit + x.dim(dim) : limit;
  strides[dim] = stride;
  return slice(x, std::move(starts), std::move(limits), std::move(strides));
}

Value pad(Value x, Value value, std::vector<PadDim> dims) {
  return apply(kPad, {x, value}, PadAttrs{std::move(dims)});
}

Value pad(Value x, double value, std::vector<PadDim> dims) {
  return pad(x, scalar_like(x, value), std::move(dims));
}

std::vector<Value> split(Value x, std::span<const int64_t> sizes, int dim) {
  dim = normalize_dim("split", x, dim);
  std::vector<Value> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    if (size < 0 || start + size > x.dim(dim)) break;
    parts.push_back(slice_in_dim(x, dim, start, start + size));
    start += size;
  }
  if (parts.size() != sizes.size() || start != x.dim(dim)) {
    fail_at("split", x, "sizes ", dims_to_string(sizes), " must add up to ", x.dim(dim),
            ", the size of dim ", dim);
  }
  return parts;
}

std::vector<Value> split(Value x, int parts, int dim) {
  dim = normalize_dim("split", x, dim);
  if (parts < 1 || x.dim(dim) % parts != 0) {
    fail_at("split", x, "dim ", dim, " of size ", x.dim(dim), " cannot be cut into ", parts,
            " equal parts");
  }
  return split(x, Dims(parts, x.dim(dim) / parts), dim);
}

}  // namespace tessera
