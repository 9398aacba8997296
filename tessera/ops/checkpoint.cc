#include <algorithm>

#include "tessera/ops/control.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/joint_internal.h"

namespace tessera {
namespace {

// The forward nodes that the policy keeps.
std::vector<int32_t> saved_nodes(const Joint& joint, const RematPolicy& policy) {
  std::vector<int32_t> saved;
  for (int32_t index = 0; policy && index < joint.forward_end; ++index) {
    const Node& node = joint.graph->node(index);
    if (node.op != &kParameter && policy(node)) saved.push_back(index);
  }
  return saved;
}

std::vector<ValueId> outputs_of(const Graph& graph, std::span<const int32_t> nodes) {
  std::vector<ValueId> ids;
  for (int32_t index : nodes) {
    const auto count = static_cast<int32_t>(graph.node(index).shapes.size());
    for (int32_t output = 0; output < count; ++output) ids.push_back({index, output});
  }
  return ids;
}

// Makes the forward pass return `saved` too; returns the new outputs.
std::vector<Value> keep(Vjp& v, const Joint& joint, std::span<const ValueId> saved) {
  int32_t output = static_cast<int32_t>(v.node().shapes.size());
  std::vector<Shape> shapes;
  std::vector<Value> kept;
  for (ValueId id : saved) {
    shapes.push_back(joint.graph->shape(id));
    kept.push_back(v.graph().value({v.node_index(), output++}));
  }
  v.graph().extend_node(v.node_index(), v.node().attrs, {forward_body(v.graph(), joint, saved)},
                        std::move(shapes));
  return kept;
}

// A named value is the value that the name was given to: kept under the name, that one need not be
// computed again either. (Gradients use the latter: tanh's uses tanh's own result.)
void replace_what_names_stand_for(const Graph& graph, Replacements& replaced) {
  std::vector<std::pair<int32_t, std::vector<Value>>> named(replaced.begin(), replaced.end());
  for (auto& [index, values] : named) {
    while (graph.node(index).op == &kCheckpointName) {
      index = graph.node(index).operands[0].node;
      const Node& node = graph.node(index);
      if (node.op == &kParameter || node.shapes.size() != 1) break;
      replaced.try_emplace(index, values);
    }
  }
}

// The gradient is taken of the whole body, and only then saved values take the place of what would
// compute them again: replaced before, they would be constants to the gradient.
void checkpoint_vjp(Vjp& v) {
  std::vector<int> wanted;
  for (int i = 0; i < v.operands(); ++i) {
    if (v.needs(i)) wanted.push_back(i);
  }
  std::vector<Value> inputs;
  for (int i = 0; i < v.operands(); ++i) inputs.push_back(v.operand(i));
  for (Value cotangent : floating_cotangents(v)) inputs.push_back(cotangent);
  const Joint joint = differentiate_body(v, std::move(wanted));
  const std::vector<int32_t> nodes = saved_nodes(joint, v.attr<CheckpointAttrs>().policy);
  const std::vector<ValueId> saved = outputs_of(*joint.graph, nodes);
  const size_t arguments = inputs.size();
  if (!saved.empty()) {
    for (Value value : keep(v, joint, saved)) inputs.push_back(value);
  }
  // Behind the barrier, so that the compiler cannot merge the second computation with the first.
  inputs = optimization_barrier(inputs);
  Replacements replaced;
  for (size_t i = 0; i < saved.size(); ++i)
    replaced[saved[i].node].push_back(inputs[arguments + i]);
  replace_what_names_stand_for(*joint.graph, replaced);
  inputs.resize(arguments);
  inputs.insert(inputs.end(), joint.captures().begin(), joint.captures().end());
  const GraphCopy copy = copy_graph(*joint.graph, v.graph(), inputs, replaced);
  for (size_t k = 0; k < joint.wanted.size(); ++k) v.set_grad(joint.wanted[k], copy.outputs[k]);
}

std::vector<Shape> infer_same(const InferContext& context) { return {context.operands[0]}; }

}  // namespace

const OpDef kCheckpoint = {.name = "checkpoint", .infer = infer_inlined, .vjp = checkpoint_vjp};
const OpDef kCheckpointName = {.name = "checkpoint_name", .infer = infer_same, .vjp = [](Vjp& v) {
                                 v.set_grad(0, v.cotangent());
                               }};

RematPolicy save_nothing() {
  return [](const Node&) { return false; };
}
RematPolicy save_dots() {
  return [](const Node& node) { return node.op->name == "dot_general"; };
}
RematPolicy save_names(std::vector<std::string> names) {
  return [names = std::move(names)](const Node& node) {
    if (node.op != &kCheckpointName) return false;
    return std::find(names.begin(), names.end(), node.attr<NameAttrs>().name) != names.end();
  };
}

std::vector<Value> checkpoint(const Branch& f, std::span<const Value> args, RematPolicy policy) {
  return add_inlined(kCheckpoint, f, args, CheckpointAttrs{std::move(policy)});
}

Value checkpoint_name(Value x, std::string name) {
  return apply(kCheckpointName, {x}, NameAttrs{std::move(name)});
}

}  // namespace tessera
