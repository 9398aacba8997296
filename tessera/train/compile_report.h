#pragma once

#include <string>
#include <vector>

#include "tessera/pjrt/hlo_module.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/sharding/hybrid_mesh.h"
#include "tessera/train/compile.h"

namespace tessera {

/// All uses of one kind of collective over the same axes in one run of a program.
struct CollectiveReport {
  std::string kind;               ///< "all-gather", "reduce-scatter", ...
  std::vector<std::string> axes;  ///< mesh axes along which the devices that exchange differ
  bool crosses_slices = false;
  double count = 0;  ///< runs of it, loops unrolled
  double bytes = 0;  ///< on one device: of the operands, or of an all-gather's result
};

/// A compiled program as the compiler planned it, on one device.
struct CompileReport {
  int64_t devices = 0;
  double compile_seconds = 0;
  double argument_bytes = 0;
  double temp_bytes = 0;
  double flops = 0;                           ///< of matrix products, loops unrolled
  std::vector<CollectiveReport> collectives;  ///< the most bytes first
};

/// The collectives of a module that was partitioned for this mesh.
std::vector<CollectiveReport> collectives(const pjrt::HloModule& module, const Mesh& mesh,
                                          const Slices& slices);

/// Errors: what the plugin does not tell.
Result<CompileReport> compile_report(const CompiledFunction& function, const Mesh& mesh,
                                     const Slices& slices);

/// Compiles the train step for as many virtual devices of the CPU plugin as the layout has, and
/// runs nothing. Partitioning, scheduling and memory planning are those of training; only the
/// machine code, which nobody will run, is made without optimization, and in few pieces at once,
/// which takes less memory.
Result<CompileReport> compile_step_report(const LanguageModel& model, const RunConfig& config,
                                          const Layout& layout, const Slices& slices);

}  // namespace tessera
