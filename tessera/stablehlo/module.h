#pragma once

#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ir/graph.h"
#include "tessera/sharding/named_sharding.h"
#include "tessera/stablehlo/kernel.h"

namespace tessera::stablehlo {

/// How a graph becomes a program for a mesh.
struct ModuleOptions {
  std::string name = "tessera";
  /// Null: a program for one device, without sharding text.
  const Mesh* mesh = nullptr;
  /// What logical names in constraints mean; needed when the graph has any and there is a mesh.
  const AxisRules* rules = nullptr;
  /// One for each parameter and each output, or empty: then the partitioner chooses. Need a mesh.
  std::vector<PartitionSpec> argument_specs;
  std::vector<PartitionSpec> result_specs;
  /// For each parameter the output that takes over its buffer, or -1; empty: none.
  std::vector<int> donated_to;
  /// Printed in the place of ops, where they take them and, on a mesh, where it is known how the
  /// operands lie; there each device's call is for its own part.
  OpKernels kernels = {};
};

/// The graph as a StableHLO module with one function `main`. Errors: a constraint whose name the
/// rules do not know, a list of another length than the parameters or outputs, a spec that does not
/// fit its value, a donation between different shapes or of two parameters to one output, a
/// collective outside a manual region, or a region for another mesh.
Result<std::string> print_module(const Graph& graph, const ModuleOptions& options = {});

}  // namespace tessera::stablehlo
