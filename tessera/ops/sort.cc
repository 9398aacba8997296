#include "tessera/ops/sort.h"

#include "tessera/ops/constant.h"
#include "tessera/ops/dims.h"
#include "tessera/ops/indexing.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

std::vector<Shape> infer_sort(const InferContext& c) {
  const SortOptions& options = c.attr<SortOptions>();
  const int operands = static_cast<int>(c.operands.size());
  if (options.num_keys < 1 || options.num_keys > operands) {
    fail("num_keys is ", options.num_keys, ", must be in [1, ", operands, "]");
  }
  for (const Shape& shape : c.operands) {
    if (shape.dims != c.operands[0].dims) fail("operands must have one shape");
  }
  return {c.operands.begin(), c.operands.end()};
}

Value indices_like(Value x, int dim) {
  return iota(x.graph(), x.shape().with_dtype(DType::kS32), dim);
}

// out[i] = x[permutation[i]], so the cotangent of out[i] belongs to x[permutation[i]].
Value scatter_back(Value x, Value permutation, Value cotangent, int dim) {
  GatherDims dims = along_dim(x.shape(), dim);
  dims.unique = true;
  return scatter_add_general(zeros_like(x), permutation, cotangent, std::move(dims));
}

void vjp_sort(Vjp& v) {
  const SortOptions& options = v.attr<SortOptions>();
  if (!options.stable && v.operands() > options.num_keys) {
    fail("[sort] cannot be differentiated with stable = false: equal keys could be ordered ",
         "another way when the reverse pass sorts again");
  }
  std::vector<Value> keys;
  for (int i = 0; i < options.num_keys; ++i) keys.push_back(v.operand(i));
  keys.push_back(indices_like(v.operand(0), options.dim));
  const Value permutation = v.graph().add(kSort, keys, options).back();
  for (int i = 0; i < v.operands(); ++i) {
    if (!v.needs(i) || !v.has_cotangent(i)) continue;
    v.set_grad(i, scatter_back(v.operand(i), permutation, v.cotangent(i), options.dim));
  }
}

std::vector<Shape> infer_top_k(const InferContext& c) {
  const int64_t k = c.attr<TopKAttrs>().k;
  Shape values = c.operands[0];
  if (values.rank() == 0) fail("a scalar has no last dim");
  if (k < 0 || k > values.dims.back()) {
    fail("k is ", k, ", must be in [0, ", values.dims.back(), "], the size of the last dim");
  }
  values.dims.back() = k;
  return {values, values.with_dtype(DType::kS32)};
}

void vjp_top_k(Vjp& v) {
  if (!v.needs(0) || !v.has_cotangent(0)) return;
  const Value x = v.operand(0);
  GatherDims dims = along_dim(x.shape(), x.rank() - 1);
  dims.unique = true;
  v.set_grad(0, scatter_add_general(zeros_like(x), v.output(1), v.cotangent(0), std::move(dims)));
}

}  // namespace

const OpDef kSort = {.name = "sort", .infer = infer_sort, .vjp = vjp_sort};
const OpDef kTopK = {.name = "top_k", .infer = infer_top_k, .vjp = vjp_top_k};

std::span<const OpDef* const> sort_ops() {
  static const OpDef* const kOps[] = {&kSort, &kTopK};
  return kOps;
}

std::vector<Value> sort(std::span<const Value> operands, const SortOptions& options) {
  if (operands.empty()) fail("[sort] needs at least one operand");
  SortOptions resolved = options;
  resolved.dim = normalize_dim("sort", operands[0], options.dim);
  return innermost_graph(operands).add(kSort, operands, resolved);
}

std::vector<Value> sort(std::initializer_list<Value> operands, const SortOptions& options) {
  return sort(std::span<const Value>(operands.begin(), operands.size()), options);
}

Value sort(Value x, const SortOptions& options) { return sort({x}, options)[0]; }

Value argsort(Value x, const SortOptions& options) {
  if (options.num_keys != 1) fail_at("argsort", x, "num_keys is ", options.num_keys, ", must be 1");
  const int dim = normalize_dim("argsort", x, options.dim);
  return sort({x, indices_like(x, dim)}, options)[1];
}

TopK top_k(Value x, int64_t k) {
  const std::vector<Value> results =
      innermost_graph(std::span(&x, 1)).add(kTopK, std::span(&x, 1), TopKAttrs{k});
  return {results[0], results[1]};
}

}  // namespace tessera
