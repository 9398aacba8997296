#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tessera/ir/op.h"

namespace tessera {

/// A body and its gradient in one graph, for the gradient rules that run the two apart: the nodes
/// of the body first, then the reverse ones, which use the former.
struct Joint {
  std::shared_ptr<Graph> graph;   ///< its outputs are the gradients
  std::vector<Value> parameters;  ///< the body's
  std::vector<Value> outputs;     ///< the body's
  std::vector<Value> cotangents;  ///< parameters: of the body's floating outputs
  std::vector<int> wanted;        ///< which of the body's parameters have a gradient
  std::vector<Value> gradients;   ///< one for each wanted
  int32_t forward_end = 0;        ///< where the reverse nodes begin

  /// What the reverse nodes use of the graphs around (the gradient of a custom_gradient may), and
  /// the parameters under which they do.
  std::span<const Value> captures() const { return graph->captures(); }
  std::span<const ValueId> capture_parameters() const {
    return std::span(graph->parameters()).last(captures().size());
  }
};

/// Differentiates the first region of v's node with respect to the parameters `wanted`.
Joint differentiate_body(Vjp& v, std::vector<int> wanted);

/// The forward half of a joint graph as a body: the old outputs, then `more`.
std::shared_ptr<Graph> forward_body(Graph& parent, const Joint& joint,
                                    std::span<const ValueId> more);

}  // namespace tessera
