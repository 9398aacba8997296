#include <algorithm>

#include "tessera/ir/op.h"
#include "tessera/ops/outer_paths_internal.h"

namespace tessera {
namespace {

// The captured value for which a parameter stands; undefined for a parameter of another kind.
Value captured_by(const Graph& graph, ValueId parameter) {
  const auto& captures = graph.captures();
  const auto parameters = std::span(graph.parameters()).last(captures.size());
  const auto found = std::find(parameters.begin(), parameters.end(), parameter);
  return found == parameters.end() ? Value() : captures[found - parameters.begin()];
}

}  // namespace

OuterPaths::OuterPaths(Graph& graph, std::span<const Value> xs) : graph_(graph) {
  bool any_outside = false;
  for (Value x : xs) {
    xs_.insert({&x.graph(), x.id()});
    any_outside |= &x.graph() != &graph;
  }
  if (!any_outside) return;
  std::vector<Graph*> around;  // innermost first
  for (Graph* outer = graph.parent(); outer != nullptr; outer = outer->parent())
    around.push_back(outer);
  std::for_each(around.rbegin(), around.rend(), [&](Graph* outer) { mark(*outer); });
  const auto& captures = graph.captures();
  const auto parameters = std::span(graph.parameters()).last(captures.size());
  for (size_t i = 0; i < captures.size(); ++i) {
    if (xs_.contains({&captures[i].graph(), captures[i].id()}) || !depends(captures[i])) continue;
    captured_.push_back(graph.value(parameters[i]));
    sources_.push_back(captures[i]);
  }
}

bool OuterPaths::depends(Value value) const {
  if (!is_floating(value.dtype())) return false;
  return xs_.contains({&value.graph(), value.id()}) ||
         dependent_nodes_.contains({&value.graph(), value.id().node});
}

void OuterPaths::mark(Graph& outer) {
  for (int32_t index = 0; index < outer.size(); ++index) {
    const Node& node = outer.node(index);
    bool dependent = false;
    if (node.op == &kParameter) {
      const Value source = captured_by(outer, {index, 0});
      dependent = source.defined() && depends(source);
    } else if (!node.op->zero_gradient) {
      dependent = std::any_of(node.operands.begin(), node.operands.end(),
                              [&](ValueId id) { return depends(outer.value(id)); });
    }
    if (dependent) dependent_nodes_.insert({&outer, index});
  }
}

Value OuterPaths::rebuild(size_t i) { return rebuild_value(sources_[i]); }

Value OuterPaths::rebuild_value(Value outer) {
  if (xs_.contains({&outer.graph(), outer.id()}) || !depends(outer)) return graph_.import(outer);
  if (auto found = rebuilt_.find({&outer.graph(), outer.id()}); found != rebuilt_.end())
    return found->second;
  const Node& node = outer.graph().node(outer.id().node);
  if (node.op == &kParameter) return rebuild_value(captured_by(outer.graph(), outer.id()));
  std::vector<Value> operands;
  for (ValueId id : node.operands) operands.push_back(rebuild_value(outer.graph().value(id)));
  const auto scope = graph_.scope_of(node);
  const std::vector<Value> outputs = graph_.add(*node.op, operands, node.attrs, node.regions);
  for (int32_t k = 0; k < static_cast<int32_t>(outputs.size()); ++k)
    rebuilt_[{&outer.graph(), {outer.id().node, k}}] = outputs[k];
  return outputs[outer.id().output];
}

}  // namespace tessera
