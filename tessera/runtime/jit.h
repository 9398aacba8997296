#pragma once

#include <string>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/graph.h"
#include "tessera/runtime/compiled_function.h"
#include "tessera/sharding/partition_spec.h"
#include "tessera/stablehlo/kernel.h"

namespace tessera {

/// What an argument or result of a graph is called, and what its dimensions are called. The axis
/// rules turn the latter into its layout.
struct LogicalValue {
  std::string path;
  std::vector<std::string> dim_names;  ///< one a dimension, or empty: the same on every device
  /// Axes beyond the rules': each, where nothing is split over it yet, splits the first dimension
  /// that it divides further, if there is one.
  std::vector<std::string> spread = {};
};

/// How a graph becomes a program.
struct JitOptions {
  std::string name = "main";
  Mesh mesh;
  AxisRules rules;
  /// One for each parameter and output of the graph.
  std::vector<LogicalValue> arguments;
  std::vector<LogicalValue> results;
  /// Arguments that are given away: paths, or branches ("state" is all of "state.*"). Each one's
  /// memory is taken over by the result of the same path, which must be of the same shape.
  std::vector<std::string> donate;
  /// Debug options of XLA for this program alone.
  std::vector<pjrt::CompileOptions::Override> overrides;
  /// Code outside XLA that takes the place of ops (kernels/kernel.h).
  stablehlo::OpKernels kernels = {};
};

/// The layout of one value. Errors name it: a dimension name without rule, a dimension that its
/// axes do not divide.
Result<ProgramValue> lay_out(const LogicalValue& value, const Shape& shape, const AxisRules& rules,
                             const Mesh& mesh);

/// Prints the graph for the mesh, with every argument and result laid out by the rules. Compiles
/// nothing.
Result<Program> lower(const Graph& graph, const JitOptions& options);

/// lower(), then CompiledFunction::compile().
Result<CompiledFunction> jit(Runtime& runtime, const Graph& graph, const JitOptions& options);

/// Calls a program with named arguments, in any order, and names what it returns. Besides the
/// errors of the call: an argument that is missing, or that the program does not have (which names
/// the nearest).
Result<Tree<Array>> call(const CompiledFunction& function, const Tree<Array>& arguments);

}  // namespace tessera
