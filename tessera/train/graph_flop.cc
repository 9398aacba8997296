#include "tessera/train/graph_flop.h"

#include <algorithm>

#include "tessera/ir/op.h"
#include "tessera/ops/control.h"
#include "tessera/ops/linear.h"

namespace tessera {
namespace {

using Wanted = std::vector<bool>;

double dot_flop(const Graph& graph, const Node& node) {
  const auto& attrs = node.attr<DotAttrs>();
  double flop = 2 * static_cast<double>(node.shapes[0].elements());
  for (int64_t dim : attrs.dims.lhs_contract)
    flop *= static_cast<double>(graph.shape(node.operands[0]).dims[dim]);
  return flop;
}

double flop_of(const Graph& graph, const Wanted& outputs);

double region_flop(const Node& node, const Wanted& wanted) {
  if (node.regions.empty()) return 0;
  if (node.op == &kScan) {
    const auto& attrs = node.attr<ScanAttrs>();
    Wanted body = wanted;  // what goes round is needed for whatever comes out
    std::fill(body.begin(), body.begin() + attrs.carries, true);
    return static_cast<double>(attrs.length) * flop_of(*node.regions[0], body);
  }
  double most = 0;
  for (const auto& region : node.regions) {
    const bool same = region->outputs().size() == wanted.size();
    most = std::max(most, flop_of(*region, same ? wanted : Wanted(region->outputs().size(), true)));
  }
  return most;
}

double flop_of(const Graph& graph, const Wanted& outputs) {
  std::vector<Wanted> wanted(graph.size());
  for (int32_t i = 0; i < graph.size(); ++i) wanted[i].resize(graph.node(i).shapes.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId id = graph.outputs()[i];
    if (outputs[i]) wanted[id.node][id.output] = true;
  }
  double flop = 0;
  for (int32_t i = graph.size() - 1; i >= 0; --i) {
    const Node& node = graph.node(i);
    if (std::find(wanted[i].begin(), wanted[i].end(), true) == wanted[i].end()) continue;
    for (ValueId id : node.operands) wanted[id.node][id.output] = true;
    if (node.op == &kDotGeneral) flop += dot_flop(graph, node);
    flop += region_flop(node, wanted[i]);
  }
  return flop;
}

}  // namespace

double matrix_flop(const Graph& graph) {
  return flop_of(graph, Wanted(graph.outputs().size(), true));
}

}  // namespace tessera
