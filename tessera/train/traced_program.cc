#include "tessera/train/traced_program.h"

namespace tessera {

std::vector<ArgumentSpec> argument_specs(std::string_view prefix, const Tree<ParamSpec>& specs) {
  std::vector<ArgumentSpec> arguments;
  for (const auto& [path, spec] : specs)
    arguments.push_back({str_cat(prefix, ".", path), spec.shape(), spec.names});
  return arguments;
}

ArgumentSpec scalar_spec(std::string path, DType dtype) {
  return {std::move(path), Shape{dtype, {}}, {}};
}

Status trace_into(TracedProgram& program, const ProgramBody& body) {
  std::vector<NamedShape> shapes;
  for (const ArgumentSpec& spec : program.arguments) shapes.push_back({spec.path, spec.shape});
  const BodyFn by_path = [&](Graph& graph, std::span<const Value> values) {
    Tree<Value> arguments;
    for (size_t i = 0; i < values.size(); ++i)
      CHECK(arguments.add(program.arguments[i].path, values[i]).ok());
    return body(graph, arguments);
  };
  ASSIGN_OR_RETURN(program.graph, trace(shapes, by_path));
  return absl::OkStatus();
}

std::vector<Value> values_of(const Tree<Value>& tree) {
  std::vector<Value> values;
  for (const auto& [path, value] : tree) values.push_back(value);
  return values;
}

Value find_value(const Tree<Value>& tree, std::string_view path) {
  const Value* found = tree.find(path);
  return found ? *found : Value();
}

}  // namespace tessera
