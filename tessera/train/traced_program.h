#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/nn/param.h"

namespace tessera {

/// A named argument or result of a compiled program of training.
struct ArgumentSpec {
  std::string path;
  Shape shape;
  std::vector<std::string> names;  ///< of the dimensions, for the axis rules
};

/// A traced program with what its parameters and outputs are called and how they are laid out.
struct TracedProgram {
  std::shared_ptr<Graph> graph;
  std::vector<ArgumentSpec> arguments;
  std::vector<ArgumentSpec> results;
  std::vector<std::string>
      donate;  ///< branches of arguments whose buffers the results of the same paths take over
};

/// "PREFIX.path" of each parameter.
std::vector<ArgumentSpec> argument_specs(std::string_view prefix, const Tree<ParamSpec>& specs);
/// One number: f32[] unless told otherwise.
ArgumentSpec scalar_spec(std::string path, DType dtype = DType::kF32);

/// Computes a program's results, in their order, from its arguments by path.
using ProgramBody = std::function<std::vector<Value>(Graph& graph, const Tree<Value>& arguments)>;
/// Traces `body` over program.arguments into program.graph.
Status trace_into(TracedProgram& program, const ProgramBody& body);

/// The values of a tree, in its order.
std::vector<Value> values_of(const Tree<Value>& tree);
/// The value at `path`, or an undefined one.
Value find_value(const Tree<Value>& tree, std::string_view path);

}  // namespace tessera
