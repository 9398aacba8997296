#include "tessera/train/compile.h"

namespace tessera {
namespace {

std::vector<LogicalValue> logical_values(std::span<const ArgumentSpec> specs,
                                         const Layout& layout) {
  std::vector<LogicalValue> values;
  for (const ArgumentSpec& spec : specs) values.push_back(logical_value(spec, layout));
  return values;
}

}  // namespace

Result<Program> lower_program(const TracedProgram& program, std::string name,
                              const Layout& layout) {
  return lower(*program.graph, {.name = std::move(name),
                                .mesh = layout.mesh,
                                .rules = layout.rules,
                                .arguments = logical_values(program.arguments, layout),
                                .results = logical_values(program.results, layout),
                                .donate = program.donate,
                                .overrides = {},
                                .kernels = layout.kernels.op_kernels()});
}

Result<CompiledFunction> compile_program(Runtime& runtime, const TracedProgram& program,
                                         std::string name, const Layout& layout) {
  ASSIGN_OR_RETURN(Program lowered, lower_program(program, std::move(name), layout));
  return CompiledFunction::compile(runtime, std::move(lowered));
}

}  // namespace tessera
