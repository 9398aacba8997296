#include "tessera/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "tessera/ops/reduce.h"
#include "tessera/ops/registry.h"

namespace tessera {
namespace {

std::vector<Shape> infer_reshape(const InferContext& c) {
  const Shape& x = c.operands[0];
  Dims dims = c.attr<ReshapeAttrs>().dims;
  const std::string wanted = dims_to_string(dims);
  int64_t known = 1;
  auto unknown = dims.end();
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (*dim == -1) {
      if (unknown != dims.end()) fail("only one size may be -1, got ", wanted);
      unknown = dim;
    } else if (*dim < 0) {
      fail("sizes must be at least 0, or -1 for the one to compute, got ", wanted);
    } else {
      known *= *dim;
    }
  }
  if (unknown != dims.end()) {
    if (known == 0 || x.elements() % known != 0) {
      fail(x.elements(), " elements do not fill ", wanted, ": they are no multiple of ", known);
    }
    *unknown = x.elements() / known;
  } else if (known != x.elements()) {
    fail(x.elements(), " elements do not fill ", wanted, ", which has ", known);
  }
  return {{x.dtype, std::move(dims)}};
}

std::vector<Shape> infer_transpose(const InferContext& c) {
  const Shape& x = c.operands[0];
  const Dims& permutation = c.attr<TransposeAttrs>().permutation;
  Dims sorted = permutation;
  std::ranges::sort(sorted);
  Dims identity(x.rank());
  std::iota(identity.begin(), identity.end(), 0);
  if (sorted != identity) {
    fail("the permutation ", dims_to_string(permutation), " must name each of the ", x.rank(),
         " dimensions once");
  }
  Shape result{x.dtype, {}};
  for (int64_t from : permutation) result.dims.push_back(x.dims[from]);
  return {result};
}

void vjp_transpose(Vjp& v) {
  const Dims& permutation = v.attr<TransposeAttrs>().permutation;
  std::vector<int> inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int>(i);
  v.set_grad(0, transpose(v.cotangent(), inverse));
}

std::vector<Shape> infer_broadcast(const InferContext& c) {
  const Shape& x = c.operands[0];
  const auto& [dims, mapping] = c.attr<BroadcastAttrs>();
  if (static_cast<int>(mapping.size()) != x.rank()) {
    fail("the mapping ", dims_to_string(mapping),
         " must name a dimension of the result for each "
         "of the ",
         x.rank(), " of the operand");
  }
  for (size_t i = 0; i < mapping.size(); ++i) {
    if (mapping[i] < 0 || mapping[i] >= static_cast<int64_t>(dims.size()) ||
        (i > 0 && mapping[i] <= mapping[i - 1])) {
      fail("the mapping ", dims_to_string(mapping), " must increase within the dimensions of ",
           dims_to_string(dims));
    }
    if (x.dims[i] != 1 && x.dims[i] != dims[mapping[i]]) {
      fail("dim ", i, " has size ", x.dims[i], ", which does not broadcast to size ",
           dims[mapping[i]], " of ", dims_to_string(dims));
    }
  }
  return {{x.dtype, dims}};
}

// Sums over what was repeated, then gives the sizes of 1 back.
void vjp_broadcast(Vjp& v) {
  const Value x = v.operand(0);
  const auto& [dims, mapping] = v.attr<BroadcastAttrs>();
  std::vector<int> repeated;
  size_t next = 0;
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const bool mapped = next < mapping.size() && mapping[next] == i;
    if (!mapped || x.dims()[next] != dims[i]) repeated.push_back(i);
    if (mapped) ++next;
  }
  v.set_grad(0, reshape(sum(v.cotangent(), repeated), x.dims()));
}

std::vector<Shape> infer_concatenate(const InferContext& c) {
  const int dim = c.attr<ConcatenateAttrs>().dim;
  Shape result = c.operands[0];
  if (dim < 0 || dim >= result.rank()) {
    fail("dim ", dim, " is out of range for rank ", result.rank());
  }
  for (const Shape& x : c.operands.subspan(1)) {
    Shape same = x;
    if (x.rank() == result.rank()) same.dims[dim] = result.dims[dim];
    if (same != result) {
      fail("operands must agree in dtype and in every size but that of dim ", dim);
    }
    result.dims[dim] += x.dims[dim];
  }
  return {result};
}

void vjp_concatenate(Vjp& v) {
  const int dim = v.attr<ConcatenateAttrs>().dim;
  int64_t start = 0;
  for (int i = 0; i < v.operands(); ++i) {
    const int64_t size = v.operand(i).dims()[dim];
    if (v.needs(i)) v.set_grad(i, slice_in_dim(v.cotangent(), dim, start, start + size));
    start += size;
  }
}

std::vector<Shape> infer_reverse(const InferContext& c) {
  for (int64_t dim : c.attr<ReverseAttrs>().dims) {
    if (dim < 0 || dim >= c.operands[0].rank()) fail("dim ", dim, " is out of range");
  }
  return {c.operands[0]};
}

void vjp_reverse(Vjp& v) {
  v.set_grad(0, apply(kReverse, {v.cotangent()}, v.attr<ReverseAttrs>()));
}

}  // namespace

const OpDef kReshape = {.name = "reshape", .infer = infer_reshape, .vjp = [](Vjp& v) {
                          v.set_grad(0, reshape(v.cotangent(), v.operand(0).dims()));
                        }};
const OpDef kTranspose = {.name = "transpose", .infer = infer_transpose, .vjp = vjp_transpose};
const OpDef kBroadcastInDim = {
    .name = "broadcast_in_dim", .infer = infer_broadcast, .vjp = vjp_broadcast};
const OpDef kConcatenate = {
    .name = "concatenate", .infer = infer_concatenate, .vjp = vjp_concatenate};
const OpDef kReverse = {.name = "reverse", .infer = infer_reverse, .vjp = vjp_reverse};

Value reshape(Value x, Dims dims) {
  if (x.defined() && x.dims() == dims) return x;
  return apply(kReshape, {x}, ReshapeAttrs{std::move(dims)});
}

Value transpose(Value x, const DimList& permutation) {
  return apply(kTranspose, {x}, TransposeAttrs{normalize_dims("transpose", x, permutation)});
}

Value transpose(Value x) {
  Dims permutation = normalize_dims("transpose", x, kAllDims);
  std::ranges::reverse(permutation);
  return apply(kTranspose, {x}, TransposeAttrs{std::move(permutation)});
}

Value swap_dims(Value x, int a, int b) {
  Dims permutation = normalize_dims("swap_dims", x, kAllDims);
  std::swap(permutation[normalize_dim("swap_dims", x, a)],
            permutation[normalize_dim("swap_dims", x, b)]);
  return apply(kTranspose, {x}, TransposeAttrs{std::move(permutation)});
}

Value broadcast_in_dim(Value x, Dims dims, Dims mapping) {
  return apply(kBroadcastInDim, {x}, BroadcastAttrs{std::move(dims), std::move(mapping)});
}

Value broadcast_to(Value x, const Dims& dims) {
  if (!x.defined()) fail_at("broadcast_to", x, "");
  if (x.dims() == dims) return x;
  const int64_t added = static_cast<int64_t>(dims.size()) - x.rank();
  if (added < 0)
    fail_at("broadcast_to", x, "the target ", dims_to_string(dims), " has fewer dimensions");
  Dims mapping(x.rank());
  std::iota(mapping.begin(), mapping.end(), added);
  return broadcast_in_dim(x, dims, std::move(mapping));
}

Value expand_dims(Value x, int dim) {
  if (!x.defined()) fail_at("expand_dims", x, "");
  Dims dims = x.dims();
  dims.insert(dims.begin() + normalize_dim("expand_dims", x, dim, x.rank() + 1), 1);
  return reshape(x, std::move(dims));
}

Value squeeze(Value x, const DimList& dims) {
  const Dims gone = normalize_dims("squeeze", x, dims);
  Dims kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(gone, i) == gone.end()) {
      kept.push_back(x.dims()[i]);
    } else if (x.dims()[i] != 1) {
      fail_at("squeeze", x, "dim ", i, " has size ", x.dims()[i], "; only sizes of 1 can go");
    }
  }
  return reshape(x, std::move(kept));
}

Value concatenate(std::span<const Value> values, int dim) {
  if (values.empty()) fail("[concatenate] needs at least one value");
  dim = normalize_dim("concatenate", values[0], dim);
  if (values.size() == 1) return values[0];
  return apply(kConcatenate, values, ConcatenateAttrs{dim});
}

Value stack(std::span<const Value> values, int dim) {
  if (values.empty()) fail("[stack] needs at least one value");
  std::vector<Value> expanded;
  for (Value value : values) {
    if (!value.defined()) fail_at("stack", value, "");
    if (value.shape() != values[0].shape()) {
      fail_at("stack", value, "all values need the shape of the first, ",
              to_string(values[0].shape()));
    }
    // The position in the result, for every value the same.
    expanded.push_back(expand_dims(value, normalize_dim("stack", value, dim, value.rank() + 1)));
  }
  return concatenate(expanded, dim);
}

Value reverse(Value x, const DimList& dims) {
  Dims sorted = normalize_dims("reverse", x, dims);
  std::ranges::sort(sorted);
  return apply(kReverse, {x}, ReverseAttrs{std::move(sorted)});
}

std::span<const OpDef* const> shape_ops() {
  static constexpr const OpDef* kOps[] = {&kReshape, &kTranspose,   &kBroadcastInDim, &kSlice,
                                          &kPad,     &kConcatenate, &kReverse};
  return kOps;
}

}  // namespace tessera
