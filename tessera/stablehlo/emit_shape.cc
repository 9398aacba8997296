#include "tessera/ops/shape.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

// `%5 = op %3, attributes : (types) -> type`: the form that all but reverse have.
void emit_moved(Emitter& e, const EmitNode& n, std::string_view op, std::string_view attributes) {
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = ", op, " ", operands, attributes, " : (", e.operand_types(n),
         ") -> ", e.result_types(n));
}

void emit_reshape(Emitter& e, const EmitNode& n) { emit_moved(e, n, "stablehlo.reshape", ""); }

void emit_transpose(Emitter& e, const EmitNode& n) {
  const Dims& permutation = n.attr<TransposeAttrs>().permutation;
  emit_moved(e, n, "stablehlo.transpose", str_cat(", dims = ", mlir_list(permutation)));
}

void emit_broadcast(Emitter& e, const EmitNode& n) {
  const Dims& mapping = n.attr<BroadcastAttrs>().mapping;
  emit_moved(e, n, "stablehlo.broadcast_in_dim", str_cat(", dims = ", mlir_list(mapping)));
}

void emit_slice(Emitter& e, const EmitNode& n) {
  const auto& [starts, limits, strides] = n.attr<SliceAttrs>();
  std::string ranges = " [";
  for (size_t i = 0; i < starts.size(); ++i) {
    str_append(&ranges, i > 0 ? ", " : "", starts[i], ":", limits[i]);
    if (strides[i] != 1) str_append(&ranges, ":", strides[i]);
  }
  emit_moved(e, n, "stablehlo.slice", str_cat(ranges, "]"));
}

void emit_pad(Emitter& e, const EmitNode& n) {
  Dims low, high, interior;
  for (const PadDim& dim : n.attr<PadAttrs>().dims) {
    low.push_back(dim.low);
    high.push_back(dim.high);
    interior.push_back(dim.interior);
  }
  emit_moved(e, n, "stablehlo.pad",
             str_cat(", low = ", mlir_list(low), ", high = ", mlir_list(high),
                     ", interior = ", mlir_list(interior)));
}

void emit_concatenate(Emitter& e, const EmitNode& n) {
  emit_moved(e, n, "stablehlo.concatenate", str_cat(", dim = ", n.attr<ConcatenateAttrs>().dim));
}

void emit_reverse(Emitter& e, const EmitNode& n) {
  const std::string x = e.operand(n, 0);
  e.line(e.bind_results(n), " = stablehlo.reverse ", x,
         ", dims = ", mlir_list(n.attr<ReverseAttrs>().dims), " : ", e.result_types(n));
}

}  // namespace

void add_shape_emitters(EmitterTable& table) {
  table[&kReshape] = emit_reshape;
  table[&kTranspose] = emit_transpose;
  table[&kBroadcastInDim] = emit_broadcast;
  table[&kSlice] = emit_slice;
  table[&kPad] = emit_pad;
  table[&kConcatenate] = emit_concatenate;
  table[&kReverse] = emit_reverse;
}

}  // namespace tessera::stablehlo
