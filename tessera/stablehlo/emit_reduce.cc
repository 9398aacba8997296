#include "tessera/ops/reduce.h"
#include "tessera/stablehlo/emit_parts.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

// Reduces in the accumulation dtype and rounds once, at the end.
void emit_accumulated(Emitter& e, const EmitNode& n, const ReduceText& text) {
  const Shape& x = n.operand_shape(0);
  const DType wide = accumulation_dtype(x.dtype);
  const std::string widened = emit_convert(e, e.operand(n, 0), x, wide);
  const std::string y =
      emit_reduce(e, widened, x.with_dtype(wide), n.attr<ReduceAttrs>().dims, text);
  const Shape from = n.result_shape().with_dtype(wide);
  e.bind(n.graph, {n.index, 0}, emit_convert(e, y, from, x.dtype));
}

void emit_exact(Emitter& e, const EmitNode& n, const ReduceText& text) {
  e.bind(n.graph, {n.index, 0},
         emit_reduce(e, e.operand(n, 0), n.operand_shape(0), n.attr<ReduceAttrs>().dims, text));
}

void emit_sum(Emitter& e, const EmitNode& n) {
  const DType wide = accumulation_dtype(n.operand_shape(0).dtype);
  emit_accumulated(e, n, {"stablehlo.add", mlir_literal(wide, 0)});
}
void emit_prod(Emitter& e, const EmitNode& n) {
  const DType wide = accumulation_dtype(n.operand_shape(0).dtype);
  emit_accumulated(e, n, {"stablehlo.multiply", mlir_literal(wide, 1)});
}
void emit_max(Emitter& e, const EmitNode& n) {
  emit_exact(e, n, {"stablehlo.maximum", extreme_literal(n.operand_shape(0).dtype, false)});
}
void emit_min(Emitter& e, const EmitNode& n) {
  emit_exact(e, n, {"stablehlo.minimum", extreme_literal(n.operand_shape(0).dtype, true)});
}
void emit_and(Emitter& e, const EmitNode& n) {
  const DType dtype = n.operand_shape(0).dtype;
  // All bits set: for signed integers that is -1.
  emit_exact(e, n,
             {"stablehlo.and", is_signed_integer(dtype) ? "-1" : extreme_literal(dtype, true)});
}
void emit_or(Emitter& e, const EmitNode& n) {
  const DType dtype = n.operand_shape(0).dtype;
  emit_exact(e, n, {"stablehlo.or", mlir_literal(dtype, 0)});
}

/// The types and names within the two-operand reduction that finds an index.
struct ArgReducer {
  DType value;
  DType index;
  bool greatest;  ///< whether it looks for the greatest

  std::string value_type() const { return str_cat("tensor<", mlir_type(value), ">"); }
  std::string index_type() const { return str_cat("tensor<", mlir_type(index), ">"); }
};

std::string scalar_compare(Emitter& e, std::string_view direction, DType dtype,
                           std::string_view operands) {
  const std::string_view kind = is_floating(dtype)         ? "FLOAT"
                                : is_signed_integer(dtype) ? "SIGNED"
                                                           : "UNSIGNED";
  const std::string type = str_cat("tensor<", mlir_type(dtype), ">");
  return e.helper(str_cat("stablehlo.compare ", direction, ", ", operands, ", ", kind, " : (", type,
                          ", ", type, ") -> tensor<i1>"));
}

// Whether the new pair (x, i) takes the place of the held one (y, j): when x is beyond y, or a NaN
// and y is none, or as good and of lower index. That makes the order total, so any order of
// reduction gives the same index.
std::string takes_place(Emitter& e, const ArgReducer& r, const std::string (&names)[4]) {
  const auto& [y, j, x, i] = names;
  const Shape flag{DType::kBool, {}};
  const std::string pair = str_cat(x, ", ", y);
  std::string better = scalar_compare(e, r.greatest ? "GT" : "LT", r.value, pair);
  std::string as_good = scalar_compare(e, "EQ", r.value, pair);
  if (is_floating(r.value)) {
    const std::string new_nan = scalar_compare(e, "NE", r.value, str_cat(x, ", ", x));
    const std::string old_number = scalar_compare(e, "EQ", r.value, str_cat(y, ", ", y));
    const std::string old_nan = scalar_compare(e, "NE", r.value, str_cat(y, ", ", y));
    const std::string first_nan = emit_binary(e, "stablehlo.and", new_nan, old_number, flag);
    const std::string both_nan = emit_binary(e, "stablehlo.and", new_nan, old_nan, flag);
    better = emit_binary(e, "stablehlo.or", better, first_nan, flag);
    as_good = emit_binary(e, "stablehlo.or", as_good, both_nan, flag);
  }
  const std::string earlier = scalar_compare(e, "LT", r.index, str_cat(i, ", ", j));
  const std::string tie = emit_binary(e, "stablehlo.and", as_good, earlier, flag);
  return emit_binary(e, "stablehlo.or", better, tie, flag);
}

void emit_arg_reducer(Emitter& e, const ArgReducer& r) {
  const std::string names[4] = {e.fresh(), e.fresh(), e.fresh(), e.fresh()};
  const auto& [y, j, x, i] = names;
  e.line("^bb0(", y, ": ", r.value_type(), ", ", j, ": ", r.index_type(), ", ", x, ": ",
         r.value_type(), ", ", i, ": ", r.index_type(), "):");
  e.indent();
  const std::string takes = takes_place(e, r, names);
  const std::string value = e.helper(
      str_cat("stablehlo.select ", takes, ", ", x, ", ", y, " : tensor<i1>, ", r.value_type()));
  const std::string index = e.helper(
      str_cat("stablehlo.select ", takes, ", ", i, ", ", j, " : tensor<i1>, ", r.index_type()));
  e.line("stablehlo.return ", value, ", ", index, " : ", r.value_type(), ", ", r.index_type());
  e.dedent();
}

void emit_arg_reduce(Emitter& e, const EmitNode& n, bool greatest) {
  const auto& [dim, index] = n.attr<ArgReduceAttrs>();
  const Shape& x = n.operand_shape(0);
  const ArgReducer r{x.dtype, index, greatest};
  const Shape places = x.with_dtype(index);
  const std::string iota =
      e.helper(str_cat("stablehlo.iota dim = ", dim, " : ", mlir_type(places)));
  const std::string worst = emit_literal(e, x.dtype, extreme_literal(x.dtype, !greatest));
  // The start is as bad as can be and stands behind all, so that an element wins even when it is as
  // bad.
  const std::string last = emit_literal(e, index, extreme_literal(index, true));
  const std::string name = e.fresh();
  e.line(name, ":2 = \"stablehlo.reduce\"(", e.operand(n, 0), ", ", iota, ", ", worst, ", ", last,
         ") <{dimensions = array<i64: ", dim, ">}> ({");
  emit_arg_reducer(e, r);
  const std::string values = mlir_type(n.result_shape().with_dtype(x.dtype));
  e.line("}) : (", mlir_type(x), ", ", mlir_type(places), ", ", r.value_type(), ", ",
         r.index_type(), ") -> (", values, ", ", e.result_types(n), ")");
  e.bind(n.graph, {n.index, 0}, str_cat(name, "#1"));
}

void emit_argmax(Emitter& e, const EmitNode& n) { emit_arg_reduce(e, n, true); }
void emit_argmin(Emitter& e, const EmitNode& n) { emit_arg_reduce(e, n, false); }

// x + x shifted by 1, then by 2, by 4, …: after the last step each element holds the sum of all
// that are not behind it, in log2(size) steps. A negative padding drops what is shifted out.
void emit_cumsum(Emitter& e, const EmitNode& n) {
  const auto& [dim, reverse] = n.attr<CumsumAttrs>();
  const Shape& shape = n.operand_shape(0);
  const Shape wide = shape.with_dtype(accumulation_dtype(shape.dtype));
  std::string x = emit_convert(e, e.operand(n, 0), shape, wide.dtype);
  const std::string zero = emit_literal(e, wide.dtype, mlir_literal(wide.dtype, 0));
  const Dims none(shape.rank(), 0);
  for (int64_t by = 1; by < shape.dims[dim]; by *= 2) {
    Dims low = none;
    Dims high = none;
    low[dim] = reverse ? -by : by;
    high[dim] = -low[dim];
    const std::string shifted = e.helper(
        str_cat("stablehlo.pad ", x, ", ", zero, ", low = ", mlir_list(low),
                ", high = ", mlir_list(high), ", interior = ", mlir_list(none), " : (",
                mlir_type(wide), ", tensor<", mlir_type(wide.dtype), ">) -> ", mlir_type(wide)));
    x = emit_binary(e, "stablehlo.add", x, shifted, wide);
  }
  e.bind(n.graph, {n.index, 0}, emit_convert(e, x, wide, shape.dtype));
}

// A value without dimension `dim`, repeated along it.
std::string emit_along(Emitter& e, const std::string& y, const Shape& shape, int64_t dim) {
  Dims mapping;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i != dim) mapping.push_back(i);
  }
  return e.helper(str_cat("stablehlo.broadcast_in_dim ", y, ", dims = ", mlir_list(mapping), " : (",
                          mlir_type(reduced_shape(shape, Dims{dim})), ") -> ", mlir_type(shape)));
}

void emit_softmax(Emitter& e, const EmitNode& n) {
  const Dims dims = {n.attr<SoftmaxAttrs>().dim};
  const Shape& narrow = n.operand_shape(0);
  const Shape shape = narrow.with_dtype(accumulation_dtype(narrow.dtype));
  const std::string x = emit_convert(e, e.operand(n, 0), narrow, shape.dtype);
  const std::string greatest =
      emit_reduce(e, x, shape, dims, {"stablehlo.maximum", extreme_literal(shape.dtype, false)});
  const std::string shifted =
      emit_binary(e, "stablehlo.subtract", x, emit_along(e, greatest, shape, dims[0]), shape);
  const std::string powers =
      e.helper(str_cat("stablehlo.exponential ", shifted, " : ", mlir_type(shape)));
  const std::string total =
      emit_reduce(e, powers, shape, dims, {"stablehlo.add", mlir_literal(shape.dtype, 0)});
  const std::string y =
      emit_binary(e, "stablehlo.divide", powers, emit_along(e, total, shape, dims[0]), shape);
  e.bind(n.graph, {n.index, 0}, emit_convert(e, y, shape, narrow.dtype));
}

}  // namespace

void add_reduce_emitters(EmitterTable& table) {
  table[&kReduceSum] = emit_sum;
  table[&kReduceProd] = emit_prod;
  table[&kReduceMax] = emit_max;
  table[&kReduceMin] = emit_min;
  table[&kReduceAnd] = emit_and;
  table[&kReduceOr] = emit_or;
  table[&kArgmax] = emit_argmax;
  table[&kArgmin] = emit_argmin;
  table[&kCumsum] = emit_cumsum;
  table[&kSoftmax] = emit_softmax;
}

}  // namespace tessera::stablehlo
