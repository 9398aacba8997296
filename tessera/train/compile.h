#pragma once

#include "tessera/runtime/jit.h"
#include "tessera/train/step.h"

namespace tessera {

/// Compiles a program of training for a mesh: its arguments and results are laid out by the rules.
Result<CompiledFunction> compile_program(Runtime& runtime, const TracedProgram& program,
                                         std::string name, const Mesh& mesh,
                                         const AxisRules& rules);

/// What `training` makes of a mesh axis table: data, fsdp and tensor, with -1 filled in.
Result<Mesh> make_mesh(const Runtime& runtime, const MeshConfig& config);

}  // namespace tessera
