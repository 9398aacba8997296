#include "tessera/ops/control.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

/// A while loop's state while it is being written: names inside, initial values, types.
class LoopState {
 public:
  std::string add(Emitter& e, std::string_view initial, const std::string& type) {
    const std::string inside = e.fresh();
    str_append(&header_, header_.empty() ? "" : ", ", inside, " = ", initial);
    str_append(&types_, types_.empty() ? "" : ", ", type);
    ++count_;
    return inside;
  }
  const std::string& header() const { return header_; }
  const std::string& types() const { return types_; }
  int count() const { return count_; }

 private:
  std::string header_, types_;
  int count_ = 0;
};

// `cond {` ... `} do {` ... `}` around two pieces of text.
template <typename Condition, typename Body>
void write_loop(Emitter& e, std::string_view results, const LoopState& state, Condition condition,
                Body body) {
  e.line(results, " = stablehlo.while(", state.header(), ") : ", state.types());
  e.line("cond {");
  e.indent();
  condition();
  e.dedent();
  e.line("} do {");
  e.indent();
  body();
  e.dedent();
  e.line("}");
}

std::string index_constant(Emitter& e, int64_t value) {
  return e.helper(str_cat("stablehlo.constant dense<", value, "> : tensor<i32>"));
}

// ", %c, %c" and ", tensor<i32>, tensor<i32>": the starts of the dimensions after the first.
std::pair<std::string, std::string> zero_starts(const std::string& zero, int count) {
  std::string names, types;
  for (int i = 0; i < count; ++i) {
    str_append(&names, ", ", zero);
    types += ", tensor<i32>";
  }
  return {names, types};
}

// Row `index` of a stacked value.
std::string emit_slice(Emitter& e, const std::string& stacked, const Shape& shape,
                       const std::string& index, const std::string& zero) {
  const auto [names, types] = zero_starts(zero, shape.rank() - 1);
  Shape row = shape;
  row.dims[0] = 1;
  const std::string cut =
      e.helper(str_cat("\"stablehlo.dynamic_slice\"(", stacked, ", ", index, names,
                       ") <{slice_sizes = ", mlir_i64_array(row.dims), "}> : (", mlir_type(shape),
                       ", tensor<i32>", types, ") -> ", mlir_type(row)));
  const Shape flat{shape.dtype, Dims(shape.dims.begin() + 1, shape.dims.end())};
  return e.helper(
      str_cat("stablehlo.reshape ", cut, " : (", mlir_type(row), ") -> ", mlir_type(flat)));
}

// The stack with `value` as its row `index`.
std::string emit_update(Emitter& e, const std::string& stack, const Shape& shape,
                        const std::string& value, const std::string& index,
                        const std::string& zero) {
  const auto [names, types] = zero_starts(zero, shape.rank() - 1);
  Shape row = shape;
  row.dims[0] = 1;
  const Shape flat{shape.dtype, Dims(shape.dims.begin() + 1, shape.dims.end())};
  const std::string update = e.helper(
      str_cat("stablehlo.reshape ", value, " : (", mlir_type(flat), ") -> ", mlir_type(row)));
  return e.helper(str_cat("\"stablehlo.dynamic_update_slice\"(", stack, ", ", update, ", ", index,
                          names, ") : (", mlir_type(shape), ", ", mlir_type(row), ", tensor<i32>",
                          types, ") -> ", mlir_type(shape)));
}

// No step: the carries as they came in, and empty stacks. (The body could not take a slice of an
// empty dimension.)
void emit_empty_scan(Emitter& e, const EmitNode& n) {
  const int carries = n.attr<ScanAttrs>().carries;
  for (int i = 0; i < static_cast<int>(n.node.shapes.size()); ++i) {
    const Shape& shape = n.result_shape(i);
    e.bind(n.graph, {n.index, i},
           i < carries ? e.operand(n, i)
                       : e.helper(str_cat("stablehlo.constant dense<", mlir_literal(shape.dtype, 0),
                                          "> : ", mlir_type(shape))));
  }
}

// A loop over i = 0 .. length-1 whose state is i, the carries, and a stack for each y.
void emit_scan(Emitter& e, const EmitNode& n) {
  const auto& attrs = n.attr<ScanAttrs>();
  if (attrs.length == 0) return emit_empty_scan(e, n);
  const Graph& body = *n.node.regions[0];
  const int ys = static_cast<int>(body.outputs().size()) - attrs.carries;
  const int inputs = attrs.carries + attrs.xs;
  const std::string zero = index_constant(e, 0), one = index_constant(e, 1),
                    length = index_constant(e, attrs.length);
  LoopState state;
  const std::string i = state.add(e, zero, "tensor<i32>");
  for (int c = 0; c < attrs.carries; ++c) {
    e.bind(body, body.parameters()[c],
           state.add(e, e.operand(n, c), mlir_type(n.operand_shape(c))));
  }
  std::vector<std::string> stacks;
  for (int y = 0; y < ys; ++y) {
    const Shape& shape = n.result_shape(attrs.carries + y);
    const std::string empty = e.helper(str_cat(
        "stablehlo.constant dense<", mlir_literal(shape.dtype, 0), "> : ", mlir_type(shape)));
    stacks.push_back(state.add(e, empty, mlir_type(shape)));
  }
  e.bind_parameters(n, body, {inputs, inputs, n.operands() - inputs});
  const std::string result = e.fresh();
  for (int c = 0; c < attrs.carries + ys; ++c)
    e.bind(n.graph, {n.index, c}, str_cat(result, "#", c + 1));
  const std::string results = state.count() == 1 ? result : str_cat(result, ":", state.count());
  write_loop(
      e, results, state,
      [&] {
        const std::string more = e.helper(str_cat("stablehlo.compare LT, ", i, ", ", length,
                                                  " : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
        e.line("stablehlo.return ", more, " : tensor<i1>");
      },
      [&] {
        std::string row = i;
        if (attrs.reverse) {
          const std::string last = index_constant(e, attrs.length - 1);
          row = e.helper(str_cat("stablehlo.subtract ", last, ", ", i, " : tensor<i32>"));
        }
        for (int x = 0; x < attrs.xs; ++x) {
          const int operand = attrs.carries + x;
          e.bind(body, body.parameters()[operand],
                 emit_slice(e, e.operand(n, operand), n.operand_shape(operand), row, zero));
        }
        e.nodes(body);
        std::string values = e.helper(str_cat("stablehlo.add ", i, ", ", one, " : tensor<i32>"));
        for (int c = 0; c < attrs.carries; ++c)
          str_append(&values, ", ", e.name(body, body.outputs()[c]));
        for (int y = 0; y < ys; ++y) {
          const std::string& value = e.name(body, body.outputs()[attrs.carries + y]);
          str_append(
              &values, ", ",
              emit_update(e, stacks[y], n.result_shape(attrs.carries + y), value, row, zero));
        }
        e.line("stablehlo.return ", values, " : ", state.types());
      });
}

void emit_while(Emitter& e, const EmitNode& n) {
  const int count = n.attr<WhileAttrs>().state;
  const Graph& condition = *n.node.regions[0];
  const Graph& body = *n.node.regions[1];
  LoopState state;
  for (int i = 0; i < count; ++i) {
    const std::string inside = state.add(e, e.operand(n, i), mlir_type(n.operand_shape(i)));
    e.bind(condition, condition.parameters()[i], inside);
    e.bind(body, body.parameters()[i], inside);
  }
  for (const Graph* region : {&condition, &body}) {
    e.bind_parameters(n, *region, {count, count, n.operands() - count});
  }
  const std::string results = e.bind_results(n);
  write_loop(
      e, results, state, [&] { e.body(condition, "stablehlo.return"); },
      [&] { e.body(body, "stablehlo.return"); });
}

void emit_cond(Emitter& e, const EmitNode& n) {
  for (const auto& region : n.node.regions) e.bind_parameters(n, *region, {0, 1, n.operands() - 1});
  const std::string predicate = e.operand(n, 0);
  const std::string start = n.node.shapes.empty() ? "" : str_cat(e.bind_results(n), " = ");
  e.line(start, "\"stablehlo.if\"(", predicate, ") ({");
  e.indent();
  e.body(*n.node.regions[0], "stablehlo.return");
  e.dedent();
  e.line("}, {");
  e.indent();
  e.body(*n.node.regions[1], "stablehlo.return");
  e.dedent();
  e.line("}) : (tensor<i1>) -> (", e.result_types(n), ")");
}

// The body's text stands in place; the node's outputs are other names for the body's.
void emit_inlined(Emitter& e, const EmitNode& n) {
  const Graph& body = *n.node.regions[0];
  e.bind_parameters(n, body, {0, 0, n.operands()});
  e.nodes(body);
  for (int32_t i = 0; i < static_cast<int32_t>(body.outputs().size()); ++i) {
    e.bind(n.graph, {n.index, i}, e.name(body, body.outputs()[i]));
  }
}

void emit_identity(Emitter& e, const EmitNode& n) {
  e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
}

// The call that XLA's passes for host memory look for; where there are none it has no handler.
void emit_transfer_to_memory(Emitter& e, const EmitNode& n) {
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = stablehlo.custom_call @annotate_device_placement(", operands,
         ") {backend_config = \"\", has_side_effect = true, mhlo.frontend_attributes = "
         "{_xla_buffer_placement = \"",
         n.attr<NameAttrs>().name, "\"}} : (", e.operand_types(n), ") -> ", e.result_types(n));
}

void emit_custom_call(Emitter& e, const EmitNode& n) {
  const auto& attrs = n.attr<CustomCallAttrs>();
  const std::string config = attrs.backend_config.empty() ? "{}" : attrs.backend_config;
  std::vector<Shape> operands;
  for (int i = 0; i < n.operands(); ++i) operands.push_back(n.operand_shape(i));
  std::string aliases;
  for (const auto& [result, operand] : attrs.aliases) {
    str_append(&aliases, aliases.empty() ? ", output_operand_aliases = [" : ", ",
               "#stablehlo.output_operand_alias<output_tuple_indices = [",
               n.node.shapes.size() > 1 ? str_cat(result) : std::string(),
               "], operand_index = ", operand, ", operand_tuple_indices = []>");
  }
  if (!aliases.empty()) aliases += "]";
  e.generic_op(n, "stablehlo.custom_call",
               str_cat("call_target_name = \"", attrs.target,
                       "\", has_side_effect = ", attrs.has_side_effect ? "true" : "false",
                       ", api_version = 4 : i32, backend_config = ", config,
                       ", operand_layouts = ", row_major_layouts(operands),
                       ", result_layouts = ", row_major_layouts(n.node.shapes), aliases));
}

void emit_barrier(Emitter& e, const EmitNode& n) {
  e.generic_op(n, "stablehlo.optimization_barrier");
}

}  // namespace

void add_control_emitters(EmitterTable& table) {
  table[&kScan] = emit_scan;
  table[&kWhile] = emit_while;
  table[&kCond] = emit_cond;
  table[&kCheckpoint] = emit_inlined;
  table[&kCheckpointName] = emit_identity;
  table[&kTransferToMemory] = emit_transfer_to_memory;
  table[&kCustomGradient] = emit_inlined;
  table[&kCustomCall] = emit_custom_call;
  table[&kOptimizationBarrier] = emit_barrier;
}

}  // namespace tessera::stablehlo
