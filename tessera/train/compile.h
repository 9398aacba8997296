#pragma once

#include "tessera/train/layout.h"

namespace tessera {

/// A program of training as text: its arguments and results are laid out as the layout says.
Result<Program> lower_program(const TracedProgram& program, std::string name, const Layout& layout);
/// The same, compiled.
Result<CompiledFunction> compile_program(Runtime& runtime, const TracedProgram& program,
                                         std::string name, const Layout& layout);

}  // namespace tessera
