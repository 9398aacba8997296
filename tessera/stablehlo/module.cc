#include "tessera/stablehlo/module.h"

#include <optional>
#include <utility>

#include "tessera/sharding/shardy.h"
#include "tessera/stablehlo/emitter.h"

namespace tessera::stablehlo {
namespace {

Status check_count(size_t got, size_t required, std::string_view what) {
  if (got == 0 || got == required) return absl::OkStatus();
  return invalid_argument("print_module: ", got, " ", what, " for ", required, " values");
}

Status check_spec(const Shape& shape, const PartitionSpec& spec, const Mesh& mesh) {
  ASSIGN_OR_RETURN(const NamedSharding sharding, NamedSharding::create(mesh, spec));
  return sharding.check(shape);
}

Status check_specs(const Graph& graph, const ModuleOptions& options) {
  if (options.mesh == nullptr) return absl::OkStatus();
  for (size_t i = 0; i < options.argument_specs.size(); ++i) {
    const Shape& shape = graph.shape(graph.parameters()[i]);
    RETURN_IF_ERROR(annotate(
        check_spec(shape, options.argument_specs[i], *options.mesh),
        str_cat("print_module: parameter ", i, " ", graph.parameter_name(static_cast<int>(i)))));
  }
  for (size_t i = 0; i < options.result_specs.size(); ++i) {
    const Shape& shape = graph.shape(graph.outputs()[i]);
    RETURN_IF_ERROR(annotate(check_spec(shape, options.result_specs[i], *options.mesh),
                             str_cat("print_module: output ", i)));
  }
  return absl::OkStatus();
}

Status check(const Graph& graph, const ModuleOptions& options) {
  const size_t parameters = graph.parameters().size(), outputs = graph.outputs().size();
  RETURN_IF_ERROR(check_count(options.argument_specs.size(), parameters, "argument specs"));
  RETURN_IF_ERROR(check_count(options.result_specs.size(), outputs, "result specs"));
  RETURN_IF_ERROR(check_count(options.donated_to.size(), parameters, "donations"));
  RETURN_IF_ERROR(check_specs(graph, options));
  std::vector<int> donor(outputs, -1);
  for (size_t i = 0; i < options.donated_to.size(); ++i) {
    const int output = options.donated_to[i];
    if (output < 0) continue;
    if (output >= static_cast<int>(outputs))
      return invalid_argument("print_module: no output ", output);
    const Shape& from = graph.shape(graph.parameters()[i]);
    const Shape& to = graph.shape(graph.outputs()[output]);
    if (from != to) {
      return invalid_argument("print_module: parameter ", i, " ",
                              graph.parameter_name(static_cast<int>(i)), " is ", to_string(from),
                              " and cannot be donated to output ", output, ", which is ",
                              to_string(to));
    }
    if (std::exchange(donor[output], static_cast<int>(i)) >= 0) {
      return invalid_argument("print_module: two parameters are donated to output ", output,
                              "; the second is ", i);
    }
  }
  return absl::OkStatus();
}

std::string braces(const std::vector<std::string>& attributes) {
  if (attributes.empty()) return "";
  std::string out;
  for (const std::string& attribute : attributes)
    str_append(&out, out.empty() ? " {" : ", ", attribute);
  return out + "}";
}

std::string sharding_attribute(const PartitionSpec& spec, const Shape& shape) {
  return str_cat("sdy.sharding = ", shardy_sharding(spec, shape.rank()));
}

std::string arguments(Emitter& emitter, const Graph& graph, const ModuleOptions& options) {
  std::string out;
  for (size_t i = 0; i < graph.parameters().size(); ++i) {
    const ValueId id = graph.parameters()[i];
    const std::string name = str_cat("%arg", i);
    emitter.bind(graph, id, name);
    std::vector<std::string> attributes;
    if (options.mesh && !options.argument_specs.empty()) {
      attributes.push_back(sharding_attribute(options.argument_specs[i], graph.shape(id)));
    }
    if (!options.donated_to.empty() && options.donated_to[i] >= 0) {
      attributes.push_back(str_cat("tf.aliasing_output = ", options.donated_to[i], " : i32"));
    }
    str_append(&out, out.empty() ? "" : ", ", name, ": ", mlir_type(graph.shape(id)),
               braces(attributes));
  }
  return out;
}

std::string results(const Graph& graph, const ModuleOptions& options) {
  std::string out;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Shape& shape = graph.shape(graph.outputs()[i]);
    std::vector<std::string> attributes;
    if (options.mesh && !options.result_specs.empty()) {
      attributes.push_back(sharding_attribute(options.result_specs[i], shape));
    }
    str_append(&out, out.empty() ? "" : ", ", mlir_type(shape), braces(attributes));
  }
  return out;
}

}  // namespace

Result<std::string> print_module(const Graph& graph, const ModuleOptions& options) {
  RETURN_IF_ERROR(check(graph, options));
  std::optional<Placements> placements;
  try {
    if (options.mesh && !options.kernels.kernels.empty()) placements.emplace(graph, options);
  } catch (const TraceError& error) {  // a constraint that the rules cannot resolve
    return error.status();
  }
  Emitter emitter(options, placements ? &*placements : nullptr);
  const int64_t partitions = options.mesh ? options.mesh->size() : 1;
  emitter.line("module @", options.name, " attributes {mhlo.num_partitions = ", partitions,
               " : i32, mhlo.num_replicas = 1 : i32} {");
  emitter.indent();
  if (options.mesh) emitter.line(shardy_mesh(*options.mesh));
  const std::string inputs = arguments(emitter, graph, options);
  emitter.line("func.func public @main(", inputs, ") -> (", results(graph, options), ") {");
  emitter.indent();
  try {
    emitter.body(graph, "return");
  } catch (const TraceError& error) {  // a constraint that the rules cannot resolve
    return error.status();
  }
  emitter.dedent();
  emitter.line("}");
  emitter.dedent();
  emitter.line("}");
  return emitter.take();
}

}  // namespace tessera::stablehlo
