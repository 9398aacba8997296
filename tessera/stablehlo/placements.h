#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/ir/op.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/stablehlo/kernel.h"

namespace tessera::stablehlo {

struct ModuleOptions;

/// The mesh axes that split each dim of a value; as many as it has dims.
using Axes = std::vector<std::vector<std::string>>;
/// Of a value whose layout cannot be told: the partitioner chooses it.
using Placement = std::optional<Axes>;

/// What a constraint means where the axes `manual` are manual. Throws TraceError.
PartitionSpec constraint_spec(const ConstrainAttrs& attrs, const Shape& shape,
                              const ModuleOptions& options, std::span<const std::string> manual);

/// Where the values of a program lie, as its arguments' specs, its constraints and, from there on,
/// the ops say. A guess that is wrong costs an exchange of data, never a wrong result: it is used
/// to choose how work is cut, and the cut itself is printed.
class Placements {
 public:
  /// For a graph printed with these options, which have a mesh. Throws TraceError.
  Placements(const Graph& graph, const ModuleOptions& options);

  const Placement& of(const Graph& graph, ValueId id) const;

 private:
  void place_body(const Graph& graph, const std::vector<Placement>& parameters,
                  const std::vector<std::string>& manual);
  std::vector<Placement> place_node(const Graph& graph, const Node& node,
                                    const std::vector<std::string>& manual);
  std::vector<Placement> outputs_of(const Graph& graph) const;
  std::vector<Placement> operands_of(const Graph& graph, const Node& node) const;

  const ModuleOptions& options_;
  std::unordered_map<const Graph*, std::vector<std::vector<Placement>>> placements_;
};

/// How a kernel's work is cut: the axes of each label, and those along which results are summed.
struct Cut {
  std::vector<Axes> operands;
  Axes result;
  std::vector<std::string> summed;
};
/// The cut that moves least: what splits the larger operand goes first, and a dim that is summed
/// over is cut where both operands are. Nothing where the placement of an operand is not known.
std::optional<Cut> choose_cut(const DimLabels& labels, std::span<const Shape> operands,
                              std::span<const Placement> placements, const Mesh& mesh);
/// The part of a device.
Shape local_shape(const Shape& shape, const Axes& axes, const Mesh& mesh);

}  // namespace tessera::stablehlo
