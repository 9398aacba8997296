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

PartitionSpec resolve(const ConstrainAttrs& attrs, const Shape& shape,
                      const ModuleOptions& options) {
  if (attrs.logical_names.empty()) return attrs.spec;
  if (options.rules == nullptr)
    fail("[constrain] a program with logical names needs axis rules to be printed for a mesh");
  Result<ResolvedSpec> resolved =
      options.rules->resolve(attrs.logical_names, shape.dims, *options.mesh);
  if (!resolved.ok()) throw TraceError(annotate(resolved.status(), "[constrain]"));
  return std::move(resolved->spec);
}

void emit_constrain(Emitter& e, const EmitNode& n) {
  if (e.options().mesh == nullptr) return e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
  const auto sharding = NamedSharding::create(
      *e.options().mesh, resolve(n.attr<ConstrainAttrs>(), n.operand_shape(0), e.options()));
  const Status fits = sharding.ok() ? sharding->check(n.operand_shape(0)) : sharding.status();
  if (!fits.ok()) throw TraceError(annotate(fits, "[constrain]"));
  const PartitionSpec& spec = sharding->spec();
  if (e.in_manual_region()) {
    if (!spec.dims.empty()) {
      fail("[constrain] to ", to_string(spec),
           " inside a manual region, where each device has its own part already: constrain before "
           "or after the region");
    }
    return e.bind(n.graph, {n.index, 0}, e.operand(n, 0));
  }
  const std::string operand = e.operand(n, 0);
  e.line(e.bind_results(n), " = sdy.sharding_constraint ", operand, " ",
         bare_sharding(spec, n.operand_shape(0).rank()), " : ", mlir_type(n.result_shape()));
}

std::string sharding_list(std::span<const PartitionSpec> specs, std::span<const Shape> shapes,
                          const Mesh& mesh) {
  std::string out;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto sharding = NamedSharding::create(mesh, specs[i]);  // without axes of size one
    if (!sharding.ok()) throw TraceError(annotate(sharding.status(), "[manual_region]"));
    str_append(&out, out.empty() ? "" : ", ", bare_sharding(sharding->spec(), shapes[i].rank()));
  }
  return str_cat("[", out, "]");
}

void emit_manual_region(Emitter& e, const EmitNode& n) {
  const ManualOptions& options = n.attr<ManualAttrs>().options;
  if (e.options().mesh == nullptr || !(*e.options().mesh == options.mesh)) {
    fail("[manual_region] was traced for the mesh ", to_string(options.mesh),
         " and is printed for ", e.options().mesh ? to_string(*e.options().mesh) : "one device");
  }
  if (e.in_manual_region()) fail("[manual_region] cannot stand inside another one");
  const Graph& body = *n.node.regions[0];
  std::vector<Shape> operand_shapes;
  for (int i = 0; i < n.operands(); ++i) operand_shapes.push_back(n.operand_shape(i));
  std::string axes, parameters;
  for (const MeshAxis& axis : named_axes(options.mesh))
    str_append(&axes, axes.empty() ? "" : ", ", "\"", axis.name, "\"");
  const std::string operands = e.operand_list(n);
  for (ValueId id : body.parameters()) {
    const std::string inside = e.fresh();
    e.bind(body, id, inside);
    str_append(&parameters, parameters.empty() ? "" : ", ", inside, ": ",
               mlir_type(body.shape(id)));
  }
  e.line(e.bind_results(n), " = sdy.manual_computation(", operands,
         ") in_shardings=", sharding_list(options.in, operand_shapes, options.mesh),
         " out_shardings=", sharding_list(options.out, n.node.shapes, options.mesh),
         " manual_axes={", axes, "} (", parameters, ") {");
  e.indent();
  e.set_in_manual_region(true);
  e.body(body, "sdy.return");
  e.set_in_manual_region(false);
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

// A collective with a reduction in a region.
void emit_reducing(Emitter& e, const EmitNode& n, std::string_view op, std::string_view reduction,
                   std::string_view more = "") {
  require_manual_region(e, n);
  const auto& attrs = n.attr<CollectiveAttrs>();
  const std::string operand = e.operand(n, 0);
  const std::string scalar = mlir_type(Shape{n.operand_shape(0).dtype, {}});
  e.line(e.bind_results(n), " = \"", op, "\"(", operand, ") <{", channel(e), ", ", groups(attrs),
         ", use_global_device_ids", more, "}> ({");
  const std::string a = e.fresh(), b = e.fresh();
  e.line("^bb0(", a, ": ", scalar, ", ", b, ": ", scalar, "):");
  e.indent();
  const std::string joined = e.helper(str_cat(reduction, " ", a, ", ", b, " : ", scalar));
  e.line("stablehlo.return ", joined, " : ", scalar);
  e.dedent();
  e.line("}) : (", e.operand_types(n), ") -> ", e.result_types(n));
}

void emit_psum(Emitter& e, const EmitNode& n) {
  emit_reducing(e, n, "stablehlo.all_reduce", "stablehlo.add");
}
void emit_pmax(Emitter& e, const EmitNode& n) {
  emit_reducing(e, n, "stablehlo.all_reduce", "stablehlo.maximum");
}
void emit_pmin(Emitter& e, const EmitNode& n) {
  emit_reducing(e, n, "stablehlo.all_reduce", "stablehlo.minimum");
}

void emit_psum_scatter(Emitter& e, const EmitNode& n) {
  emit_reducing(e, n, "stablehlo.reduce_scatter", "stablehlo.add",
                str_cat(", scatter_dimension = ", n.attr<CollectiveAttrs>().dim, " : i64"));
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
void emit_axis_index(Emitter& e, const EmitNode& n) {
  require_manual_region(e, n);
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
  e.line(e.bind_results(n), " = stablehlo.convert ", place, " : (tensor<ui32>) -> tensor<i32>");
}

}  // namespace

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
