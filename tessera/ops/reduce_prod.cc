#include <algorithm>

#include "tessera/ops/elementwise_binary.h"
#include "tessera/ops/elementwise_unary.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/reduce_internal.h"
#include "tessera/ops/shape.h"

namespace tessera::reduce_internal {
namespace {

// Every second element of the last dimension, from `first`.
Value every_second(Value x, int first) { return slice_in_dim(x, -1, first, x.dim(-1), 2); }

// x0 y0 x1 y1 …
Value interleave(Value x, Value y) {
  Dims dims = x.dims();
  dims.back() *= 2;
  return reshape(stack({x, y}, -1), std::move(dims));
}

// x: [..., n], g: [...] → [..., n]. A binary tree: products of ever larger groups on the way up; on
// the way down each half of a group gets what its group got, times the other half's product.
Value products_of_others(Value x, Value g) {
  const int64_t n = x.dim(-1);
  int64_t padded = 1;
  while (padded < n) padded *= 2;
  std::vector<PadDim> padding(x.rank());
  padding.back().high = padded - n;
  std::vector<Value> levels = {padded == n ? x : pad(x, 1, std::move(padding))};
  while (levels.back().dim(-1) > 1) {
    const Value level = levels.back();
    levels.push_back(every_second(level, 0) * every_second(level, 1));
  }
  Value others = expand_dims(g, -1);
  for (size_t i = levels.size() - 1; i-- > 0;) {
    others = interleave(others * every_second(levels[i], 1), others * every_second(levels[i], 0));
  }
  return slice_in_dim(others, -1, 0, n);
}

}  // namespace

void vjp_prod(Vjp& v) {
  const Value x = v.operand(0);
  const Dims& reduced = v.attr<ReduceAttrs>().dims;
  if (x.shape().elements() == 0) return;
  // As the forward product, in f32 when the type is narrower.
  const DType dtype = dtype_bits(x.dtype()) < 32 ? DType::kF32 : x.dtype();
  std::vector<int> permutation;
  Dims flat;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::ranges::find(reduced, i) != reduced.end()) continue;
    permutation.push_back(i);
    flat.push_back(x.dims()[i]);
  }
  permutation.insert(permutation.end(), reduced.begin(), reduced.end());
  flat.push_back(-1);
  const Value moved = transpose(convert(x, dtype), permutation);
  const Value others = products_of_others(reshape(moved, flat), convert(v.cotangent(), dtype));

  std::vector<int> back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) back[permutation[i]] = static_cast<int>(i);
  v.set_grad(0, convert(transpose(reshape(others, moved.dims()), back), x.dtype()));
}

}  // namespace tessera::reduce_internal
