#pragma once

#include "tessera/runtime/jit.h"
#include "tessera/train/step.h"

namespace tessera {

/// A program of training for a mesh, as text: its arguments and results are laid out by the rules.
Result<Program> lower_program(const TracedProgram& program, std::string name, const Mesh& mesh,
                              const AxisRules& rules);
/// The same, compiled.
Result<CompiledFunction> compile_program(Runtime& runtime, const TracedProgram& program,
                                         std::string name, const Mesh& mesh,
                                         const AxisRules& rules);

/// The mesh of data, fsdp and tensor axes over all devices, -1 filled in.
Result<Mesh> make_mesh(const Runtime& runtime, const MeshConfig& config);

}  // namespace tessera
