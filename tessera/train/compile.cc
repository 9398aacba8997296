#include "tessera/train/compile.h"

namespace tessera {
namespace {

std::vector<LogicalValue> logical_values(std::span<const ArgumentSpec> specs) {
  std::vector<LogicalValue> values;
  for (const ArgumentSpec& spec : specs) values.push_back({spec.path, spec.names});
  return values;
}

}  // namespace

Result<Program> lower_program(const TracedProgram& program, std::string name, const Mesh& mesh,
                              const AxisRules& rules) {
  return lower(*program.graph, {.name = std::move(name),
                                .mesh = mesh,
                                .rules = rules,
                                .arguments = logical_values(program.arguments),
                                .results = logical_values(program.results),
                                .donate = program.donate,
                                .overrides = {}});
}

Result<CompiledFunction> compile_program(Runtime& runtime, const TracedProgram& program,
                                         std::string name, const Mesh& mesh,
                                         const AxisRules& rules) {
  ASSIGN_OR_RETURN(Program lowered, lower_program(program, std::move(name), mesh, rules));
  return CompiledFunction::compile(runtime, std::move(lowered));
}

Result<Mesh> make_mesh(const Runtime& runtime, const MeshConfig& config) {
  return runtime.mesh(config.axes());
}

}  // namespace tessera
