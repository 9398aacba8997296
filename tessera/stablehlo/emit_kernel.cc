#include <algorithm>

#include "tessera/ops/sharding_ops.h"
#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/emitter.h"
#include "tessera/stablehlo/module.h"

namespace tessera::stablehlo {
namespace {

std::vector<Shape> operand_shapes(const EmitNode& n) {
  std::vector<Shape> shapes;
  for (int i = 0; i < n.operands(); ++i) shapes.push_back(n.operand_shape(i));
  return shapes;
}

std::string types_of(std::span<const Shape> shapes) {
  std::string types;
  for (const Shape& shape : shapes) str_append(&types, types.empty() ? "" : ", ", mlir_type(shape));
  return types;
}

std::string call_text(const KernelCall& call, const std::string& operands,
                      std::span<const Shape> shapes, const Shape& result) {
  return str_cat("stablehlo.custom_call @", call.target, "(", operands,
                 ") {api_version = 4 : i32, backend_config = ", call.backend_config,
                 ", operand_layouts = ", row_major_layouts(shapes),
                 ", result_layouts = ", row_major_layouts({&result, 1}), "} : (", types_of(shapes),
                 ") -> ", mlir_type(result));
}

std::string sharding_text(const Axes& axes) {
  const std::string full = shardy_sharding({axes}, static_cast<int>(axes.size()));
  return full.substr(full.find('<'));  // inside sdy's own ops the prefix is left out
}

// The axes that are not manual yet, in the mesh's order.
std::vector<std::string> automatic_axes(const Emitter& e) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : named_axes(*e.options().mesh)) {
    const auto& manual = e.manual_axes();
    if (std::find(manual.begin(), manual.end(), axis.name) == manual.end())
      axes.push_back(axis.name);
  }
  return axes;
}

std::string sum_over(Emitter& e, const std::string& value, const Shape& shape,
                     const std::vector<std::string>& axes) {
  const CollectiveAttrs attrs{.mesh = *e.options().mesh, .axes = axes};
  return e.all_reduce(value, shape, attrs, "stablehlo.add");
}

// Each device's own part, in a region that is manual along all axes that are left.
bool emit_on_parts(Emitter& e, const EmitNode& n, const OpKernel& kernel,
                   const std::vector<std::string>& automatic) {
  const Mesh& mesh = *e.options().mesh;
  const std::vector<Shape> shapes = operand_shapes(n);
  std::vector<Placement> placements;
  for (ValueId id : n.node.operands) placements.push_back(e.placement(n.graph, id));
  const auto cut = choose_cut(kernel.labels(n.node, shapes), shapes, placements, mesh);
  if (!cut) return false;
  std::vector<Shape> locals;
  std::string parameters, names, in;
  for (size_t i = 0; i < shapes.size(); ++i)
    locals.push_back(local_shape(shapes[i], cut->operands[i], mesh));
  const Shape local_result = local_shape(n.result_shape(), cut->result, mesh);
  const auto call = kernel.call(n.node, locals, local_result, e.options().kernels.threads);
  if (!call) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::string name = e.fresh();
    const std::string comma = i == 0 ? "" : ", ";
    str_append(&names, comma, name);
    str_append(&parameters, comma, name, ": ", mlir_type(locals[i]));
    str_append(&in, comma, sharding_text(cut->operands[i]));
  }
  std::string manual;
  for (const std::string& axis : automatic)
    str_append(&manual, manual.empty() ? "" : ", ", "\"", axis, "\"");
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = sdy.manual_computation(", operands, ") in_shardings=[", in,
         "] out_shardings=[", sharding_text(cut->result), "] manual_axes={", manual, "} (",
         parameters, ") {");
  e.indent();
  std::string value = e.helper(call_text(*call, names, locals, local_result));
  if (!cut->summed.empty()) value = sum_over(e, value, local_result, cut->summed);
  e.line("sdy.return ", value, " : ", mlir_type(local_result));
  e.dedent();
  e.line("} : (", e.operand_types(n), ") -> ", e.result_types(n));
  return true;
}

}  // namespace

const OpKernel* OpKernels::find(const OpDef* op) const {
  for (const OpKernel* kernel : kernels) {
    if (kernel->op == op) return kernel;
  }
  return nullptr;
}

bool emit_kernel(Emitter& e, const EmitNode& n) {
  const OpKernel* kernel = e.options().kernels.find(n.node.op);
  if (kernel == nullptr) return false;
  if (e.options().mesh != nullptr) {
    const std::vector<std::string> automatic = automatic_axes(e);
    if (!automatic.empty()) return emit_on_parts(e, n, *kernel, automatic);
  }
  const std::vector<Shape> shapes = operand_shapes(n);
  const auto call = kernel->call(n.node, shapes, n.result_shape(), e.options().kernels.threads);
  if (!call) return false;
  const std::string operands = e.operand_list(n);
  e.line(e.bind_results(n), " = ", call_text(*call, operands, shapes, n.result_shape()));
  return true;
}

}  // namespace tessera::stablehlo
