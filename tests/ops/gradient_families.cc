#include "tessera/ir/op.h"
#include "tests/ops/op_testing.h"

namespace tessera::op_testing {
namespace {

std::vector<GradientFamily>& families() {
  static std::vector<GradientFamily> all;
  return all;
}

// Which nodes depend on a floating parameter through floating values.
std::vector<bool> dependent_nodes(const Graph& graph) {
  std::vector<bool> depends(graph.size());
  for (ValueId id : graph.parameters()) depends[id.node] = is_floating(graph.shape(id).dtype);
  for (int32_t index = 0; index < graph.size(); ++index) {
    for (ValueId id : graph.node(index).operands) {
      if (depends[id.node] && is_floating(graph.shape(id).dtype)) depends[index] = true;
    }
  }
  return depends;
}

}  // namespace

bool add_gradient_cases(std::string family, MakeGradientCases make) {
  families().push_back({std::move(family), std::move(make)});
  return true;
}

const std::vector<GradientFamily>& gradient_families() { return families(); }

std::set<std::string_view> differentiated_ops(const Graph& graph) {
  const std::vector<bool> depends = dependent_nodes(graph);
  std::vector<bool> reached(graph.size());
  for (ValueId id : graph.outputs()) {
    if (is_floating(graph.shape(id).dtype)) reached[id.node] = true;
  }
  std::set<std::string_view> names;
  for (int32_t index = graph.size() - 1; index >= 0; --index) {
    const Node& node = graph.node(index);
    if (!reached[index] || !depends[index] || node.op->vjp == nullptr) continue;
    for (ValueId id : node.operands) reached[id.node] = true;
    names.insert(node.op->name);
    for (const auto& region : node.regions) names.merge(differentiated_ops(*region));
  }
  return names;
}

}  // namespace tessera::op_testing
