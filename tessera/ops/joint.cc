#include <map>
#include <optional>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/joint_internal.h"

namespace tessera {

Joint differentiate_body(Vjp& v, std::vector<int> wanted) {
  Joint joint;
  joint.graph = std::make_shared<Graph>(&v.graph());
  joint.wanted = std::move(wanted);
  const Graph& body = *v.node().regions[0];
  for (ValueId id : body.parameters())
    joint.parameters.push_back(joint.graph->parameter(body.shape(id)));
  joint.outputs = inline_graph(body, *joint.graph, joint.parameters);
  joint.forward_end = joint.graph->size();
  const std::vector<Value> ys = only_floating(joint.outputs);
  for (Value y : ys) joint.cotangents.push_back(joint.graph->parameter(y.shape()));
  std::vector<Value> xs;
  for (int i : joint.wanted) xs.push_back(joint.parameters[i]);
  joint.gradients = gradients(ys, joint.cotangents, xs);
  joint.graph->set_outputs(joint.gradients);
  return joint;
}

std::shared_ptr<Graph> forward_body(Graph& parent, const Joint& joint,
                                    std::span<const ValueId> more) {
  auto body = std::make_shared<Graph>(&parent);
  std::map<ValueId, Value> known;
  for (Value parameter : joint.parameters)
    known[parameter.id()] = body->parameter(parameter.shape());
  for (int32_t index = 0; index < joint.forward_end; ++index) {
    const Node& node = joint.graph->node(index);
    if (node.op == &kParameter) continue;
    const auto scope = body->scope_of(node);
    std::vector<Value> operands;
    for (ValueId id : node.operands) operands.push_back(known.at(id));
    const std::vector<Value> outputs = body->add(*node.op, operands, node.attrs, node.regions);
    for (int32_t i = 0; i < static_cast<int32_t>(outputs.size()); ++i)
      known[{index, i}] = outputs[i];
  }
  std::vector<Value> outputs;
  for (Value output : joint.outputs) outputs.push_back(known.at(output.id()));
  for (ValueId id : more) outputs.push_back(known.at(id));
  body->set_outputs(outputs);
  return body;
}

}  // namespace tessera
