#include <algorithm>

#include "absl/strings/str_join.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/emitter.h"
#include "tessera/stablehlo/module.h"

namespace tessera::stablehlo {
namespace {

// "<@mesh, [{"data"}, {}]>" of "#sdy.sharding<...>": inside sdy's own ops the prefix is left out.
std::string bare_sharding(const PartitionSpec& spec, int rank) {
  const std::string full = shardy_sharding(spec, rank);
  return full.substr(full.find('<'));
}

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string quoted(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) str_append(&out, out.empty() ? "" : ", ", "\"", name, "\"");
  return out;
}

// "<@mesh, [{"stage", ?}, {?}]>": open, so that the partitioner may add the axes that are not
// manual.
std::string open_sharding(const PartitionSpec& spec, int rank) {
  std::string dims;
  for (int dim = 0; dim < rank; ++dim) {
    const std::string axes =
        static_cast<size_t>(dim) < spec.dims.size() ? quoted(spec.dims[dim]) : "";
    str_append(&dims, dim > 0 ? ", " : "", "{", axes, axes.empty() ? "?}" : ", ?}");
  }
  return str_cat("<@mesh, [", dims, "]>");
}

void emit_constrain(Emitter& e, const EmitNode& n) {
  const Mesh* mesh = e.options().mesh;
  if (mesh == nullptr) return e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
  const Shape& shape = n.operand_shape(0);
  const auto sharding = NamedSharding::create(
      *mesh, constraint_spec(n.attr<ConstrainAttrs>(), shape, e.options(), e.manual_axes()));
  const Status fits = sharding.ok() ? sharding->check(shape) : sharding.status();
  if (!fits.ok()) throw TraceError(annotate(fits, "[constrain]"));
  if (e.manual_axes().size() == named_axes(*mesh).size())  // nothing is left to the partitioner
    return e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
  const std::string operand = e.operand(n, 0);
  e.line(e.bind_results(n), " = sdy.sharding_constraint ", operand, " ",
         bare_sharding(sharding->spec(), shape.rank()), " : ", mlir_type(n.result_shape()));
}

std::string sharding_list(std::span<const PartitionSpec> specs, std::span<const Shape> shapes,
                          const ManualOptions& options) {
  std::string out;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto sharding = NamedSharding::create(options.mesh, specs[i]);  // less axes of size one
    if (!sharding.ok()) throw TraceError(annotate(sharding.status(), "[manual_region]"));
    const int rank = shapes[i].rank();
    str_append(&out, out.empty() ? "" : ", ",
               options.axes.empty() ? bare_sharding(sharding->spec(), rank)
                                    : open_sharding(sharding->spec(), rank));
  }
  return str_cat("[", out, "]");
}

void emit_manual_region(Emitter& e, const EmitNode& n) {
  const ManualOptions& options = n.attr<ManualAttrs>().options;
  if (e.options().mesh == nullptr || !(*e.options().mesh == options.mesh)) {
    fail("[manual_region] was traced for the mesh ", to_string(options.mesh),
         " and is printed for ", e.options().mesh ? to_string(*e.options().mesh) : "one device");
  }
  std::vector<std::string> manual;
  for (const MeshAxis& axis : named_axes(options.mesh)) {
    if (options.axes.empty() || contains(options.axes, axis.name)) manual.push_back(axis.name);
  }
  if (manual.empty())
    fail("[manual_region] none of ", absl::StrJoin(options.axes, ", "), " is larger than one");
  const std::vector<std::string> outer = e.manual_axes();
  for (const std::string& axis : manual) {
    if (contains(outer, axis)) {
      fail("[manual_region] over ", absl::StrJoin(manual, ", "),
           " cannot stand inside another one over ", absl::StrJoin(outer, ", "));
    }
  }
  const Graph& body = *n.node.regions[0];
  std::vector<Shape> operand_shapes;
  for (int i = 0; i < n.operands(); ++i) operand_shapes.push_back(n.operand_shape(i));
  std::string parameters;
  const std::string operands = e.operand_list(n);
  for (ValueId id : body.parameters()) {
    const std::string inside = e.fresh();
    e.bind(body, id, inside);
    str_append(&parameters, parameters.empty() ? "" : ", ", inside, ": ",
               mlir_type(body.shape(id)));
  }
  e.line(e.bind_results(n), " = sdy.manual_computation(", operands,
         ") in_shardings=", sharding_list(options.in, operand_shapes, options),
         " out_shardings=", sharding_list(options.out, n.node.shapes, options), " manual_axes={",
         quoted(manual), "} (", parameters, ") {");
  e.indent();
  std::vector<std::string> all = outer;
  all.insert(all.end(), manual.begin(), manual.end());
  e.set_manual_axes(std::move(all));
  e.body(body, "sdy.return");
  e.set_manual_axes(outer);
  e.dedent();
  e.line("} : (", e.operand_types(n), ") -> (", e.result_types(n), ")");
}

// ---- collectives

// The devices of a collective see values of their own only inside a region.
void require_manual_region(const Emitter& e, const EmitNode& n) {
  if (!e.in_manual_region()) fail("[", n.node.op->name, "] stands outside a manual region");
}

// Channel ids tell the collectives of a program apart.
std::string channel(Emitter& e) {
  return str_cat("channel_handle = #stablehlo.channel_handle<handle = ", e.next_channel(),
                 ", type = 1>");
}

std::string matrix(const std::vector<std::vector<int64_t>>& rows) {
  std::string out;
  for (const auto& row : rows) str_append(&out, out.empty() ? "" : ", ", mlir_list(row));
  return str_cat("dense<[", out, "]> : tensor<", rows.size(), "x", rows[0].size(), "xi64>");
}

std::string groups(const CollectiveAttrs& attrs) {
  return str_cat("replica_groups = ", matrix(attrs.groups()));
}

// A collective with a reduction in a region; the name of its result.
std::string reducing(Emitter& e, std::string_view op, const std::string& value, const Shape& shape,
                     std::string_view result_type, const CollectiveAttrs& attrs,
                     std::string_view reduction, std::string_view more = "") {
  const std::string scalar = mlir_type(Shape{shape.dtype, {}});
  const std::string result = e.fresh();
  e.line(result, " = \"", op, "\"(", value, ") <{", channel(e), ", ", groups(attrs),
         ", use_global_device_ids", more, "}> ({");
  const std::string a = e.fresh(), b = e.fresh();
  e.line("^bb0(", a, ": ", scalar, ", ", b, ": ", scalar, "):");
  e.indent();
  const std::string joined = e.helper(str_cat(reduction, " ", a, ", ", b, " : ", scalar));
  e.line("stablehlo.return ", joined, " : ", scalar);
  e.dedent();
  e.line("}) : (", mlir_type(shape), ") -> ", result_type);
  return result;
}

void emit_all_reduce(Emitter& e, const EmitNode& n, std::string_view reduction) {
  require_manual_region(e, n);
  e.bind(n.graph, {n.index, 0},
         e.all_reduce(e.operand(n, 0), n.operand_shape(0), n.attr<CollectiveAttrs>(), reduction));
}
void emit_psum(Emitter& e, const EmitNode& n) { emit_all_reduce(e, n, "stablehlo.add"); }
void emit_pmax(Emitter& e, const EmitNode& n) { emit_all_reduce(e, n, "stablehlo.maximum"); }
void emit_pmin(Emitter& e, const EmitNode& n) { emit_all_reduce(e, n, "stablehlo.minimum"); }

void emit_psum_scatter(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
  const auto& attrs = n.attr<CollectiveAttrs>();
  e.bind(n.graph, {n.index, 0},
         reducing(e, "stablehlo.reduce_scatter", e.operand(n, 0), n.operand_shape(0),
                  e.result_types(n), attrs, "stablehlo.add",
                  str_cat(", scatter_dimension = ", attrs.dim, " : i64")));
}

void emit_all_gather(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
  const auto& attrs = n.attr<CollectiveAttrs>();
  e.generic_op(n, "stablehlo.all_gather",
               str_cat("all_gather_dim = ", attrs.dim, " : i64, ", channel(e), ", ", groups(attrs),
                       ", use_global_device_ids"));
}

void emit_all_to_all(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
  const auto& attrs = n.attr<CollectiveAttrs>();
  e.generic_op(n, "stablehlo.all_to_all",
               str_cat(channel(e), ", concat_dimension = ", attrs.concat_dim, " : i64, ",
                       groups(attrs), ", split_count = ", attrs.group_size(),
                       " : i64, split_dimension = ", attrs.dim, " : i64"));
}

void emit_ppermute(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
  const auto& attrs = n.attr<CollectiveAttrs>();
  std::vector<std::vector<int64_t>> pairs;
  for (const auto& group : attrs.groups()) {
    for (auto [source, target] : attrs.pairs) pairs.push_back({group[source], group[target]});
  }
  const std::string table = pairs.empty() ? "dense<> : tensor<0x2xi64>" : matrix(pairs);
  e.generic_op(n, "stablehlo.collective_permute",
               str_cat(channel(e), ", source_target_pairs = ", table));
}

// partition_id / stride % size, in the order of a row-major mesh.
std::string place_along_axis(Emitter& e, const EmitNode& n) {
  const auto& attrs = n.attr<CollectiveAttrs>();
  int64_t stride = 1;
  for (size_t i = attrs.mesh.axes().size();
       i-- > 0 && attrs.mesh.axes()[i].name != attrs.axes[0];) {
    stride *= attrs.mesh.axes()[i].size;
  }
  const auto number = [&](int64_t value) {
    return e.helper(str_cat("stablehlo.constant dense<", value, "> : tensor<ui32>"));
  };
  const std::string id = e.helper("stablehlo.partition_id : tensor<ui32>");
  const std::string divided =
      e.helper(str_cat("stablehlo.divide ", id, ", ", number(stride), " : tensor<ui32>"));
  const std::string place = e.helper(str_cat("stablehlo.remainder ", divided, ", ",
                                             number(attrs.group_size()), " : tensor<ui32>"));
  return e.helper(str_cat("stablehlo.convert ", place, " : (tensor<ui32>) -> tensor<i32>"));
}

// A device's number means something only where all axes are manual: elsewhere the question goes
// into a region over the axes that are left.
void emit_axis_index(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
  std::vector<std::string> rest;
  for (const MeshAxis& axis : named_axes(*e.options().mesh)) {
    if (!contains(e.manual_axes(), axis.name)) rest.push_back(axis.name);
  }
  if (rest.empty()) return e.bind(n.graph, {n.index, 0}, place_along_axis(e, n));
  const std::string result = e.fresh();
  e.line(result, " = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, []>] ",
         "manual_axes={", quoted(rest), "} () {");
  e.indent();
  e.line("sdy.return ", place_along_axis(e, n), " : tensor<i32>");
  e.dedent();
  e.line("} : () -> tensor<i32>");
  e.bind(n.graph, {n.index, 0}, result);
}

}  // namespace

std::string Emitter::all_reduce(const std::string& value, const Shape& shape,
                                const CollectiveAttrs& attrs, std::string_view reduction) {
  return reducing(*this, "stablehlo.all_reduce", value, shape, mlir_type(shape), attrs, reduction);
}

void add_sharding_emitters(EmitterTable& table) {
  table[&kConstrain] = emit_constrain;
  table[&kManualRegion] = emit_manual_region;
  table[&kPsum] = emit_psum;
  table[&kPmax] = emit_pmax;
  table[&kPmin] = emit_pmin;
  table[&kAllGather] = emit_all_gather;
  table[&kPsumScatter] = emit_psum_scatter;
  table[&kAllToAll] = emit_all_to_all;
  table[&kPpermute] = emit_ppermute;
  table[&kAxisIndex] = emit_axis_index;
}

}  // namespace tessera::stablehlo
