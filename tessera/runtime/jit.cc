#include "tessera/runtime/jit.h"

#include <algorithm>

#include "tessera/base/nearest.h"
#include "tessera/stablehlo/module.h"

namespace tessera {
namespace {

void spread(const std::string& axis, const Dims& dims, const Mesh& mesh, PartitionSpec& spec) {
  spec.dims.resize(dims.size());
  for (const auto& axes : spec.dims) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return;
  }
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    int64_t parts = mesh.axis_size(axis);
    for (const std::string& other : spec.dims[dim]) parts *= mesh.axis_size(other);
    if (dims[dim] == 0 || dims[dim] % parts != 0) continue;
    spec.dims[dim].push_back(axis);
    return;
  }
}

Result<std::vector<ProgramValue>> lay_out_all(const Graph& graph, std::span<const ValueId> ids,
                                              std::span<const LogicalValue> values,
                                              const JitOptions& options) {
  if (ids.size() != values.size()) {
    return invalid_argument("the graph has ", ids.size(), ", named are ", values.size());
  }
  std::vector<ProgramValue> result;
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSIGN_OR_RETURN(ProgramValue value,
                     lay_out(values[i], graph.shape(ids[i]), options.rules, options.mesh));
    result.push_back(std::move(value));
  }
  return result;
}

bool is_in(std::string_view path, std::string_view branch) {
  return path == branch || (path.starts_with(branch) && path[branch.size()] == '.');
}

/// Marks donated arguments and finds for each argument the result that takes it over, or -1.
Result<std::vector<int>> match_donations(const JitOptions& options, Program& program) {
  std::vector<int> donated_to(program.arguments.size(), -1);
  for (const std::string& branch : options.donate) {
    bool any = false;
    for (size_t i = 0; i < program.arguments.size(); ++i) {
      ProgramValue& argument = program.arguments[i];
      if (!is_in(argument.path, branch)) continue;
      any = true;
      const auto result =
          std::find_if(program.results.begin(), program.results.end(),
                       [&](const ProgramValue& r) { return r.path == argument.path; });
      if (result == program.results.end() || result->shape != argument.shape ||
          !(result->sharding == argument.sharding)) {
        return invalid_argument(
            "argument '", argument.path, "' cannot be donated: ",
            result == program.results.end()
                ? "there is no result of that path"
                : str_cat("it is ", describe(argument.shape, argument.sharding), ", the result is ",
                          describe(result->shape, result->sharding)));
      }
      argument.donated = true;
      donated_to[i] = static_cast<int>(result - program.results.begin());
    }
    if (!any) return invalid_argument("donated '", branch, "' is no argument");
  }
  return donated_to;
}

std::vector<PartitionSpec> specs(std::span<const ProgramValue> values) {
  std::vector<PartitionSpec> result;
  for (const ProgramValue& value : values) result.push_back(value.sharding.spec());
  return result;
}

Result<Program> lower_unnamed(const Graph& graph, const JitOptions& options) {
  Program program{.name = options.name, .mesh = options.mesh, .overrides = options.overrides};
  auto arguments = lay_out_all(graph, graph.parameters(), options.arguments, options);
  RETURN_IF_ERROR(annotate(arguments.status(), "arguments"));
  program.arguments = *std::move(arguments);
  auto results = lay_out_all(graph, graph.outputs(), options.results, options);
  RETURN_IF_ERROR(annotate(results.status(), "results"));
  program.results = *std::move(results);
  ASSIGN_OR_RETURN(std::vector<int> donated_to, match_donations(options, program));
  const bool one_device = options.mesh.size() == 1;
  ASSIGN_OR_RETURN(program.text,
                   stablehlo::print_module(graph, {.name = options.name,
                                                   .mesh = one_device ? nullptr : &options.mesh,
                                                   .rules = &options.rules,
                                                   .argument_specs = specs(program.arguments),
                                                   .result_specs = specs(program.results),
                                                   .donated_to = std::move(donated_to),
                                                   .kernels = options.kernels}));
  return program;
}

std::vector<std::string> paths(const CompiledFunction& function) {
  std::vector<std::string> result;
  for (const ProgramValue& argument : function.arguments()) result.push_back(argument.path);
  return result;
}

}  // namespace

Result<ProgramValue> lay_out(const LogicalValue& value, const Shape& shape, const AxisRules& rules,
                             const Mesh& mesh) {
  const std::string context = str_cat("'", value.path, "'");
  if (!value.dim_names.empty() && static_cast<int>(value.dim_names.size()) != shape.rank()) {
    return invalid_argument(context, ": ", to_string(shape), " has ", shape.rank(),
                            " dimensions, named are ", value.dim_names.size());
  }
  const std::span<const int64_t> sizes(shape.dims.data(), value.dim_names.size());
  auto resolved = rules.resolve(value.dim_names, sizes, mesh);
  RETURN_IF_ERROR(annotate(resolved.status(), context));
  for (const std::string& axis : value.spread) spread(axis, shape.dims, mesh, resolved->spec);
  auto sharding = NamedSharding::create(mesh, std::move(resolved->spec));
  RETURN_IF_ERROR(annotate(sharding.status(), context));
  RETURN_IF_ERROR(annotate(sharding->check(shape), context));
  return ProgramValue{value.path, shape, *std::move(sharding)};
}

Result<Program> lower(const Graph& graph, const JitOptions& options) {
  auto program = lower_unnamed(graph, options);
  RETURN_IF_ERROR(annotate(program.status(), str_cat("program '", options.name, "'")));
  return program;
}

Result<CompiledFunction> jit(Runtime& runtime, const Graph& graph, const JitOptions& options) {
  ASSIGN_OR_RETURN(Program program, lower(graph, options));
  return CompiledFunction::compile(runtime, std::move(program));
}

Result<Tree<Array>> call(const CompiledFunction& function, const Tree<Array>& arguments) {
  std::vector<Array> list;
  for (const ProgramValue& required : function.arguments()) {
    const Array* array = arguments.find(required.path);
    if (array == nullptr) {
      return invalid_argument("call of '", function.name(), "': argument '", required.path,
                              "' is missing");
    }
    list.push_back(*array);
  }
  if (arguments.size() != list.size()) {
    const std::vector<std::string> known = paths(function);
    for (const auto& [path, array] : arguments) {
      if (std::find(known.begin(), known.end(), path) != known.end()) continue;
      const std::string near = nearest(path, known);
      return invalid_argument("call of '", function.name(), "': it has no argument '", path, "'",
                              near.empty() ? "" : str_cat("; did you mean '", near, "'?"));
    }
  }
  ASSIGN_OR_RETURN(std::vector<Array> results, function(list));
  Tree<Array> tree;
  for (size_t i = 0; i < results.size(); ++i) {
    RETURN_IF_ERROR(tree.add(function.results()[i].path, std::move(results[i])));
  }
  return tree;
}

}  // namespace tessera
