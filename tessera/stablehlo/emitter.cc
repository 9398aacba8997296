#include "tessera/stablehlo/emitter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tessera/ir/host_array.h"
#include "tessera/ops/control.h"
#include "tessera/stablehlo/module.h"

namespace tessera::stablehlo {
namespace {

bool has_side_effect(const Node& node) {
  if (node.op == &kCustomCall) return node.attr<CustomCallAttrs>().has_side_effect;
  return std::any_of(node.regions.begin(), node.regions.end(), [](const auto& region) {
    for (int32_t index = 0; index < region->size(); ++index) {
      if (has_side_effect(region->node(index))) return true;
    }
    return false;
  });
}

// For each node whether one of the outputs needs it: what nobody reads is not printed, unless it
// does more than give values.
std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.size());
  for (int32_t index = 0; index < graph.size(); ++index)
    live[index] = has_side_effect(graph.node(index));
  for (ValueId id : graph.outputs()) live[id.node] = true;
  for (int32_t index = graph.size() - 1; index >= 0; --index) {
    if (!live[index]) continue;
    for (ValueId id : graph.node(index).operands) live[id.node] = true;
  }
  return live;
}

template <typename Items, typename Format>
std::string joined(const Items& items, Format format) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += format(item);
  }
  return out;
}

}  // namespace

std::string mlir_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "i1";
    case DType::kF8E4M3FN:
      return "f8E4M3FN";
    case DType::kF8E5M2:
      return "f8E5M2";
    default:
      break;
  }
  if (is_floating(dtype)) return std::string(dtype_name(dtype));
  return str_cat(is_signed_integer(dtype) ? "i" : "ui", dtype_bits(dtype));
}

std::string mlir_type(const Shape& shape) {
  std::string out = "tensor<";
  for (int64_t dim : shape.dims) str_append(&out, dim, "x");
  return str_cat(out, mlir_type(shape.dtype), ">");
}

std::string mlir_literal(DType dtype, double value) {
  if (is_bool(dtype)) return value != 0 ? "true" : "false";
  if (!is_floating(dtype)) {
    if (dtype == DType::kU64) return str_cat(static_cast<uint64_t>(value));
    return str_cat(static_cast<int64_t>(value));
  }
  if (std::isfinite(value)) {
    char buffer[40];
    for (int digits = 1; digits <= 17;
         ++digits) {  // the shortest text that reads back as the same number
      std::snprintf(buffer, sizeof buffer, "%.*e", digits, value);
      if (std::strtod(buffer, nullptr) == value) break;
    }
    return buffer;
  }
  // MLIR writes what decimal cannot as the bits of the type itself.
  const HostArray bits = from_doubles(Shape{dtype, {}}, std::span(&value, 1));
  std::string out = "0x";
  for (size_t i = bits.bytes().size(); i-- > 0;) {
    char buffer[4];
    std::snprintf(buffer, sizeof buffer, "%02X", static_cast<unsigned>(bits.bytes()[i]));
    out += buffer;
  }
  return out;
}

std::string mlir_list(std::span<const int64_t> values) {
  return str_cat("[", joined(values, [](int64_t value) { return str_cat(value); }), "]");
}

std::string mlir_i64_array(std::span<const int64_t> values) {
  if (values.empty()) return "array<i64>";
  return str_cat("array<i64: ", joined(values, [](int64_t value) { return str_cat(value); }), ">");
}

std::string row_major_layouts(std::span<const Shape> shapes) {
  return str_cat("[",
                 joined(shapes,
                        [](const Shape& shape) {
                          std::vector<int64_t> order;
                          for (int dim = shape.rank(); dim-- > 0;) order.push_back(dim);
                          return str_cat("dense<", mlir_list(order), "> : tensor<", shape.rank(),
                                         "xindex>");
                        }),
                 "]");
}

const std::string& Emitter::name(const Graph& graph, ValueId id) const {
  const auto found = names_.find(&graph);
  CHECK_MSG(found != names_.end() && id.node < static_cast<int32_t>(found->second.size()) &&
                id.output < static_cast<int32_t>(found->second[id.node].size()),
            "a value is used before it has a name");
  return found->second[id.node][id.output];
}

std::string Emitter::operand_list(const EmitNode& n, int first) const {
  return joined(std::span(n.node.operands).subspan(first),
                [&](ValueId id) { return name(n.graph, id); });
}

std::string Emitter::operand_types(const EmitNode& n, int first) const {
  return joined(std::span(n.node.operands).subspan(first),
                [&](ValueId id) { return mlir_type(n.graph.shape(id)); });
}

std::string Emitter::result_types(const EmitNode& n) const {
  return joined(n.node.shapes, [](const Shape& shape) { return mlir_type(shape); });
}

void Emitter::bind(const Graph& graph, ValueId id, std::string name) {
  auto& nodes = names_[&graph];
  if (static_cast<int32_t>(nodes.size()) < graph.size()) nodes.resize(graph.size());
  auto& outputs = nodes[id.node];
  if (static_cast<int32_t>(outputs.size()) <= id.output) outputs.resize(id.output + 1);
  outputs[id.output] = std::move(name);
}

std::string Emitter::bind_results(const EmitNode& n) {
  const std::string base = fresh();
  const int32_t count = static_cast<int32_t>(n.node.shapes.size());
  if (count == 1) {
    bind(n.graph, {n.index, 0}, base);
    return base;
  }
  for (int32_t i = 0; i < count; ++i) bind(n.graph, {n.index, i}, str_cat(base, "#", i));
  return str_cat(base, ":", count);
}

void Emitter::same_type_op(const EmitNode& n, std::string_view op) {
  const std::string operands = operand_list(n);
  line(bind_results(n), " = ", op, " ", operands, " : ", mlir_type(n.result_shape()));
}

void Emitter::generic_op(const EmitNode& n, std::string_view op, std::string_view attributes) {
  const std::string operands = operand_list(n);
  const std::string properties = attributes.empty() ? "" : str_cat(" <{", attributes, "}>");
  const std::string results =
      n.node.shapes.size() == 1 ? result_types(n) : str_cat("(", result_types(n), ")");
  const std::string start = n.node.shapes.empty() ? "" : str_cat(bind_results(n), " = ");
  line(start, "\"", op, "\"(", operands, ")", properties, " : (", operand_types(n), ") -> ",
       results);
}

std::string Emitter::helper(std::string_view text) {
  std::string result = fresh();
  line(result, " = ", text);
  return result;
}

void Emitter::nodes(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  const EmitterTable& table = emitters();
  for (int32_t index = 0; index < graph.size(); ++index) {
    const Node& node = graph.node(index);
    if (!live[index] || node.op == &kParameter) continue;
    if (emit_kernel(*this, EmitNode{graph, index, node})) continue;
    const auto found = table.find(node.op);
    CHECK_MSG(found != table.end(), std::string(node.op->name));
    found->second(*this, EmitNode{graph, index, node});
  }
}

void Emitter::body(const Graph& graph, std::string_view terminator) {
  nodes(graph);
  if (graph.outputs().empty()) return line(terminator);
  const std::string values = joined(graph.outputs(), [&](ValueId id) { return name(graph, id); });
  const std::string types =
      joined(graph.outputs(), [&](ValueId id) { return mlir_type(graph.shape(id)); });
  line(terminator, " ", values, " : ", types);
}

void Emitter::bind_parameters(const EmitNode& n, const Graph& body, const Slice& slice) {
  for (int i = 0; i < slice.count; ++i) {
    bind(body, body.parameters()[slice.first_parameter + i], operand(n, slice.first_operand + i));
  }
}

}  // namespace tessera::stablehlo
