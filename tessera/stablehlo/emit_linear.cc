#include "tessera/ops/linear.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::kHigh:
      return "HIGH";
    case Precision::kHighest:
      return "HIGHEST";
    case Precision::kDefault:
      break;
  }
  return "DEFAULT";
}

void emit_dot_general(Emitter& e, const EmitNode& n) {
  const auto& [dims, dtype, precision] = n.attr<DotAttrs>();
  std::string text = str_cat("stablehlo.dot_general ", e.operand_list(n), ", ");
  if (!dims.lhs_batch.empty()) {
    str_append(&text, "batching_dims = ", mlir_list(dims.lhs_batch), " x ",
               mlir_list(dims.rhs_batch), ", ");
  }
  str_append(&text, "contracting_dims = ", mlir_list(dims.lhs_contract), " x ",
             mlir_list(dims.rhs_contract));
  const std::string_view exact = precision_name(precision);
  str_append(&text, ", precision = [", exact, ", ", exact, "]");
  e.line(e.bind_results(n), " = ", text, " : (", e.operand_types(n), ") -> ", e.result_types(n));
}

}  // namespace

void add_linear_emitters(EmitterTable& table) { table[&kDotGeneral] = emit_dot_general; }

}  // namespace tessera::stablehlo
