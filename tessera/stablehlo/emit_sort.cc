#include <limits>
#include <vector>

#include "tessera/ops/sort.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

std::string scalar_type(DType dtype) { return mlir_type(Shape{dtype, {}}); }

std::string compare(Emitter& e, std::string_view direction, std::string_view a, std::string_view b,
                    DType dtype) {
  const std::string_view kind = is_floating(dtype)         ? "TOTALORDER"
                                : is_signed_integer(dtype) ? "SIGNED"
                                                           : "UNSIGNED";
  const std::string type = scalar_type(dtype);
  return e.helper(str_cat("stablehlo.compare ", direction, ", ", a, ", ", b, ", ", kind, " : (",
                          type, ", ", type, ") -> tensor<i1>"));
}

// One zero and one NaN for all of them: the total order tells signs and payloads apart.
std::string canonical(Emitter& e, const std::string& x, DType dtype) {
  if (!is_floating(dtype)) return x;
  const std::string type = scalar_type(dtype);
  const auto constant = [&](double value) {
    return e.helper(str_cat("stablehlo.constant dense<", mlir_literal(dtype, value), "> : ", type));
  };
  const auto replace = [&](std::string_view direction, std::string_view a, std::string_view b,
                           std::string_view by, std::string_view otherwise) {
    const std::string match = e.helper(str_cat("stablehlo.compare ", direction, ", ", a, ", ", b,
                                               ", FLOAT : (", type, ", ", type, ") -> tensor<i1>"));
    return e.helper(
        str_cat("stablehlo.select ", match, ", ", by, ", ", otherwise, " : tensor<i1>, ", type));
  };
  const std::string zero = constant(0);
  const std::string one_zero = replace("EQ", x, zero, zero, x);
  return replace("NE", x, x, constant(std::numeric_limits<double>::quiet_NaN()), one_zero);
}

struct Pair {
  std::string a, b;
  DType dtype;
};

// `^bb0(%a: tensor<f32>, %b: tensor<f32>, ...):` for two elements of each type.
std::vector<Pair> begin_comparator(Emitter& e, std::span<const DType> dtypes) {
  std::vector<Pair> pairs;
  std::string arguments;
  for (DType dtype : dtypes) {
    pairs.push_back({e.fresh(), e.fresh(), dtype});
    const std::string type = scalar_type(dtype);
    str_append(&arguments, arguments.empty() ? "" : ", ", pairs.back().a, ": ", type, ", ",
               pairs.back().b, ": ", type);
  }
  e.line("^bb0(", arguments, "):");
  return pairs;
}

// Lexicographic: by the first key, and where it is equal by those after it.
std::string before(Emitter& e, std::span<const Pair> keys, std::string_view direction) {
  std::string result;
  for (size_t i = keys.size(); i-- > 0;) {
    const DType dtype = keys[i].dtype;
    const std::string a = canonical(e, keys[i].a, dtype), b = canonical(e, keys[i].b, dtype);
    const std::string strict = compare(e, direction, a, b, dtype);
    if (result.empty()) {
      result = strict;
      continue;
    }
    const std::string equal = compare(e, "EQ", a, b, dtype);
    result = e.helper(str_cat("stablehlo.select ", equal, ", ", result, ", ", strict,
                              " : tensor<i1>, tensor<i1>"));
  }
  return result;
}

std::string sort_attributes(int dim, bool stable) {
  return str_cat("<{dimension = ", dim, " : i64, is_stable = ", stable ? "true" : "false", "}>");
}

void emit_sort(Emitter& e, const EmitNode& n) {
  const SortOptions& options = n.attr<SortOptions>();
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = \"stablehlo.sort\"(", operands, ") ",
         sort_attributes(options.dim, options.stable), " ({");
  e.indent();
  std::vector<DType> dtypes;
  for (const Shape& shape : n.node.shapes) dtypes.push_back(shape.dtype);
  const std::vector<Pair> pairs = begin_comparator(e, dtypes);
  const std::span<const Pair> keys(pairs.data(), options.num_keys);
  const std::string result = before(e, keys, options.descending ? "GT" : "LT");
  e.line("stablehlo.return ", result, " : tensor<i1>");
  e.dedent();
  e.line("}) : (", e.operand_types(n), ") -> (", e.result_types(n), ")");
}

// `%k = stablehlo.slice %x [0:8, 0:2] : (type) -> type`: the first ones of the last dim.
void emit_first(Emitter& e, const EmitNode& n, int output, std::string_view sorted,
                const Shape& whole) {
  const Shape& part = n.result_shape(output);
  std::string ranges;
  for (int64_t size : part.dims) str_append(&ranges, ranges.empty() ? "" : ", ", "0:", size);
  e.bind(n.graph, {n.index, output},
         e.helper(str_cat("stablehlo.slice ", sorted, " [", ranges, "] : (", mlir_type(whole),
                          ") -> ", mlir_type(part))));
}

// A stable sort of values and their indices, then a slice: XLA knows the pattern, with a plain
// comparison, and makes a top-k of it where the device has one.
void emit_top_k(Emitter& e, const EmitNode& n) {
  const Shape& x = n.operand_shape(0);
  const Shape indices = x.with_dtype(DType::kS32);
  const int dim = x.rank() - 1;
  const std::string iota =
      e.helper(str_cat("stablehlo.iota dim = ", dim, " : ", mlir_type(indices)));
  const std::string sorted = e.fresh();
  e.line(sorted, ":2 = \"stablehlo.sort\"(", e.operand(n, 0), ", ", iota, ") ",
         sort_attributes(dim, true), " ({");
  e.indent();
  const DType dtypes[] = {x.dtype, DType::kS32};
  const std::vector<Pair> pairs = begin_comparator(e, dtypes);
  const std::string greater = compare(e, "GT", pairs[0].a, pairs[0].b, x.dtype);
  e.line("stablehlo.return ", greater, " : tensor<i1>");
  e.dedent();
  const std::string types = str_cat(mlir_type(x), ", ", mlir_type(indices));
  e.line("}) : (", types, ") -> (", types, ")");
  emit_first(e, n, 0, str_cat(sorted, "#0"), x);
  emit_first(e, n, 1, str_cat(sorted, "#1"), indices);
}

}  // namespace

void add_sort_emitters(EmitterTable& table) {
  table[&kSort] = emit_sort;
  table[&kTopK] = emit_top_k;
}

}  // namespace tessera::stablehlo
