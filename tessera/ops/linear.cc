#include "tessera/ops/linear.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tessera/ops/contract_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/registry.h"
#include "tessera/ops/shape.h"

namespace tessera {
namespace {

using linear_internal::arrange;
using linear_internal::contract;
using linear_internal::Labelled;
using linear_internal::scope_suffix;

bool is_f8(DType dtype) { return dtype == DType::kF8E4M3FN || dtype == DType::kF8E5M2; }

void check_pairs(const Shape& lhs, const Shape& rhs, const Dims& lhs_dims, const Dims& rhs_dims,
                 std::string_view kind) {
  if (lhs_dims.size() != rhs_dims.size()) {
    fail("got ", lhs_dims.size(), " ", kind, " dims of lhs and ", rhs_dims.size(),
         " of rhs: they pair up, so give as many");
  }
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    const int64_t l = lhs_dims[i], r = rhs_dims[i];
    if (l < 0 || l >= lhs.rank() || r < 0 || r >= rhs.rank()) {
      fail(kind, " dims ", l, " of lhs and ", r, " of rhs: ranks are ", lhs.rank(), " and ",
           rhs.rank());
    }
    if (lhs.dim(l) != rhs.dim(r)) {
      fail(kind, " sizes differ: lhs dim ", l, " is ", lhs.dim(l), ", rhs dim ", r, " is ",
           rhs.dim(r));
    }
  }
}

// The dims that are neither batch nor contracted, ascending; an error when one is named twice.
Dims free_dims(const Shape& shape, const Dims& batch, const Dims& contracted,
               std::string_view side) {
  std::vector<bool> used(shape.rank());
  for (const Dims* dims : {&batch, &contracted}) {
    for (int64_t dim : *dims) {
      if (used[dim]) fail("dim ", dim, " of ", side, " is named twice");
      used[dim] = true;
    }
  }
  Dims result;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (!used[dim]) result.push_back(dim);
  }
  return result;
}

std::vector<Shape> infer_dot_general(const InferContext& c) {
  const auto& [dims, dtype, precision] = c.attr<DotAttrs>();
  const Shape& lhs = c.operands[0];
  const Shape& rhs = c.operands[1];
  if (lhs.dtype != rhs.dtype && !(is_f8(lhs.dtype) && is_f8(rhs.dtype))) {
    fail("dtypes differ: lhs is ", dtype_name(lhs.dtype), ", rhs is ", dtype_name(rhs.dtype),
         "; convert one of them");
  }
  if (is_bool(lhs.dtype)) fail("operands are bool: convert them to a number's dtype");
  check_pairs(lhs, rhs, dims.lhs_batch, dims.rhs_batch, "batch");
  check_pairs(lhs, rhs, dims.lhs_contract, dims.rhs_contract, "contracting");
  if (is_floating(dtype) != is_floating(lhs.dtype) || is_bool(dtype)) {
    fail("a result in ", dtype_name(dtype), " of operands in ", dtype_name(lhs.dtype),
         ": convert the operands first");
  }
  Shape result{dtype, {}};
  for (int64_t dim : dims.lhs_batch) result.dims.push_back(lhs.dim(dim));
  for (int64_t dim : free_dims(lhs, dims.lhs_batch, dims.lhs_contract, "lhs")) {
    result.dims.push_back(lhs.dim(dim));
  }
  for (int64_t dim : free_dims(rhs, dims.rhs_batch, dims.rhs_contract, "rhs")) {
    result.dims.push_back(rhs.dim(dim));
  }
  return {result};
}

// Labels for the dims of both operands: a batch or contracted pair shares one.
struct DotLabels {
  std::vector<int> lhs, rhs, result;
};

DotLabels dot_labels(const Shape& lhs, const Shape& rhs, const DotDims& dims) {
  DotLabels labels{std::vector<int>(lhs.rank()), std::vector<int>(rhs.rank()), {}};
  int next = 0;
  for (size_t i = 0; i < dims.lhs_batch.size(); ++i, ++next) {
    labels.lhs[dims.lhs_batch[i]] = labels.rhs[dims.rhs_batch[i]] = next;
    labels.result.push_back(next);
  }
  for (size_t i = 0; i < dims.lhs_contract.size(); ++i, ++next) {
    labels.lhs[dims.lhs_contract[i]] = labels.rhs[dims.rhs_contract[i]] = next;
  }
  for (int64_t dim : free_dims(lhs, dims.lhs_batch, dims.lhs_contract, "lhs")) {
    labels.result.push_back(labels.lhs[dim] = next++);
  }
  for (int64_t dim : free_dims(rhs, dims.rhs_batch, dims.rhs_contract, "rhs")) {
    labels.result.push_back(labels.rhs[dim] = next++);
  }
  return labels;
}

// The gradient of one operand: the cotangent times the other operand, over the other's free dims.
Value dot_grad(const Labelled& cotangent, const Labelled& other, std::span<const int> target,
               DType dtype, Precision precision) {
  // Cotangents do not fit f8's range without scaling, so f8 operands are widened instead.
  const DType work = is_f8(other.value.dtype()) ? cotangent.value.dtype() : other.value.dtype();
  const Labelled ct{convert(cotangent.value, work), cotangent.labels};
  const Labelled wide{convert(other.value, work), other.labels};
  const Labelled grad = contract(ct, wide, target, {.dtype = work, .precision = precision});
  return convert(arrange(grad, target).value, dtype);
}

void vjp_dot_general(Vjp& v) {
  const DotAttrs& attrs = v.attr<DotAttrs>();
  const Value lhs = v.operand(0), rhs = v.operand(1);
  const DotLabels labels = dot_labels(lhs.shape(), rhs.shape(), attrs.dims);
  const Labelled ct{v.cotangent(), labels.result};
  if (v.needs(0)) {
    v.set_grad(0, dot_grad(ct, {rhs, labels.rhs}, labels.lhs, lhs.dtype(), attrs.precision));
  }
  if (v.needs(1)) {
    v.set_grad(1, dot_grad(ct, {lhs, labels.lhs}, labels.rhs, rhs.dtype(), attrs.precision));
  }
}

void normalize(Dims& dims, int rank) {
  for (int64_t& dim : dims) {
    if (dim < 0) dim += rank;
  }
}

// Labels of matmul: M, K and N, and batch dims counted from the end, so that they meet as
// broadcasting has it.
constexpr int kM = -1, kK = -2, kN = -3;

// Labels the leading dims; one of size 1 that the other operand stretches is reshaped away.
Labelled label_operand(Value x, std::span<const int> last, std::span<const int64_t> batch_dims) {
  const int leading = x.rank() - static_cast<int>(last.size());
  Labelled result{x, {}};
  Dims kept;
  for (int i = 0; i < x.rank(); ++i) {
    const int back = leading - 1 - i;
    if (back >= 0 && x.dim(i) == 1 && batch_dims[batch_dims.size() - 1 - back] != 1) continue;
    kept.push_back(x.dim(i));
    result.labels.push_back(back >= 0 ? back : last[i - leading]);
  }
  if (kept.size() != x.dims().size()) result.value = reshape(x, kept);
  return result;
}

void check_matmul(Value x, Value w) {
  if (x.rank() == 0 || w.rank() == 0) {
    fail("[matmul] a scalar has no dim to contract: x ", to_string(x.shape()), ", w ",
         to_string(w.shape()), "; multiply with * instead", scope_suffix(x));
  }
  const int w_dim = w.rank() == 1 ? 0 : w.rank() - 2;
  if (x.dim(-1) != w.dim(w_dim)) {
    fail("[matmul] contracting sizes differ: x ", to_string(x.shape()), " dim ", x.rank() - 1,
         " is ", x.dim(-1), ", w ", to_string(w.shape()), " dim ", w_dim, " is ", w.dim(w_dim),
         scope_suffix(x));
  }
}

}  // namespace

const OpDef kDotGeneral = {
    .name = "dot_general", .infer = infer_dot_general, .vjp = vjp_dot_general};

std::span<const OpDef* const> linear_ops() {
  static const OpDef* const kOps[] = {&kDotGeneral};
  return kOps;
}

Value dot_general(Value lhs, Value rhs, DotDims dims, const DotOptions& options) {
  normalize(dims.lhs_batch, lhs.rank());
  normalize(dims.lhs_contract, lhs.rank());
  normalize(dims.rhs_batch, rhs.rank());
  normalize(dims.rhs_contract, rhs.rank());
  return apply(kDotGeneral, {lhs, rhs},
               DotAttrs{std::move(dims), options.dtype.value_or(lhs.dtype()), options.precision});
}

Value matmul(Value x, Value w, const DotOptions& options) {
  check_matmul(x, w);
  const std::vector<int> x_last = x.rank() == 1 ? std::vector<int>{kK} : std::vector<int>{kM, kK};
  const std::vector<int> w_last = w.rank() == 1 ? std::vector<int>{kK} : std::vector<int>{kK, kN};
  const std::span<const int64_t> x_batch(x.dims().data(), x.rank() - x_last.size());
  const std::span<const int64_t> w_batch(w.dims().data(), w.rank() - w_last.size());
  const auto batch = broadcast_dims(x_batch, w_batch);
  if (!batch.ok()) {
    fail("[matmul] leading dims of x ", to_string(x.shape()), " and w ", to_string(w.shape()), ": ",
         from_absl(batch.status().message()), scope_suffix(x));
  }
  std::vector<int> order;
  for (int back = static_cast<int>(batch->size()) - 1; back >= 0; --back) order.push_back(back);
  if (x.rank() > 1) order.push_back(kM);
  if (w.rank() > 1) order.push_back(kN);
  const Labelled product =
      contract(label_operand(x, x_last, *batch), label_operand(w, w_last, *batch), order, options);
  return arrange(product, order).value;
}

}  // namespace tessera
