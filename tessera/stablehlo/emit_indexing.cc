#include "tessera/ops/indexing.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

void emit_dynamic_slice(Emitter& e, const EmitNode& n) {
  e.generic_op(n, "stablehlo.dynamic_slice",
               str_cat("slice_sizes = ", mlir_i64_array(n.attr<Dims>())));
}

void emit_dynamic_update_slice(Emitter& e, const EmitNode& n) {
  e.generic_op(n, "stablehlo.dynamic_update_slice");
}

void add_list(std::string* text, std::string_view name, const Dims& dims) {
  if (!dims.empty()) str_append(text, name, " = ", mlir_list(dims), ", ");
}

void emit_gather(Emitter& e, const EmitNode& n) {
  const GatherDims& dims = n.attr<GatherDims>();
  std::string numbers;
  add_list(&numbers, "offset_dims", dims.offset_dims);
  add_list(&numbers, "collapsed_slice_dims", dims.collapsed_dims);
  add_list(&numbers, "operand_batching_dims", dims.batch_dims);
  add_list(&numbers, "start_indices_batching_dims", dims.index_batch_dims);
  add_list(&numbers, "start_index_map", dims.index_map);
  e.generic_op(
      n, "stablehlo.gather",
      str_cat("dimension_numbers = #stablehlo.gather<", numbers,
              "index_vector_dim = ", dims.index_vector_dim,
              ">, indices_are_sorted = false, slice_sizes = ", mlir_i64_array(dims.window)));
}

void emit_scatter_add(Emitter& e, const EmitNode& n) {
  const GatherDims& dims = n.attr<GatherDims>();
  std::string numbers;
  add_list(&numbers, "update_window_dims", dims.offset_dims);
  add_list(&numbers, "inserted_window_dims", dims.collapsed_dims);
  add_list(&numbers, "input_batching_dims", dims.batch_dims);
  add_list(&numbers, "scatter_indices_batching_dims", dims.index_batch_dims);
  add_list(&numbers, "scatter_dims_to_operand_dims", dims.index_map);
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = \"stablehlo.scatter\"(", operands,
         ") <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<", numbers,
         "index_vector_dim = ", dims.index_vector_dim,
         ">, unique_indices = ", dims.unique ? "true" : "false", "}> ({");
  const std::string type = mlir_type(Shape{n.result_shape().dtype, {}});
  const std::string a = e.fresh(), b = e.fresh();
  e.line("^bb0(", a, ": ", type, ", ", b, ": ", type, "):");
  e.indent();
  const std::string sum = e.helper(str_cat("stablehlo.add ", a, ", ", b, " : ", type));
  e.line("stablehlo.return ", sum, " : ", type);
  e.dedent();
  e.line("}) : (", e.operand_types(n), ") -> ", e.result_types(n));
}

}  // namespace

void add_indexing_emitters(EmitterTable& table) {
  table[&kDynamicSlice] = emit_dynamic_slice;
  table[&kDynamicUpdateSlice] = emit_dynamic_update_slice;
  table[&kGather] = emit_gather;
  table[&kScatterAdd] = emit_scatter_add;
}

}  // namespace tessera::stablehlo
