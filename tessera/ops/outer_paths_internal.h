#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "tessera/ir/graph.h"

namespace tessera {

/// How the body of a region depends on values from outside through other values from outside: a
/// gradient that is taken inside a body, say of a scan, with respect to parameters from outside,
/// must follow `convert(parameter)` too, which stands outside because it uses nothing of the body.
class OuterPaths {
 public:
  /// `xs` may belong to `graph` or to any graph around it.
  OuterPaths(Graph& graph, std::span<const Value> xs);

  /// The parameters of the graph that stand for captured values which depend on an x without being
  /// one.
  const std::vector<Value>& captured() const { return captured_; }
  /// Computes captured()[i] again inside the graph, from the xs.
  Value rebuild(size_t i);

 private:
  using Place = std::pair<const Graph*, ValueId>;
  bool depends(Value value) const;
  void mark(Graph& outer);
  Value rebuild_value(Value outer);

  Graph& graph_;
  std::set<Place> xs_;
  std::set<std::pair<const Graph*, int32_t>> dependent_nodes_;
  std::vector<Value> captured_, sources_;
  std::map<Place, Value> rebuilt_;
};

}  // namespace tessera
