#include <algorithm>

#include "tessera/ops/control.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/joint_internal.h"

namespace tessera {
namespace {

// The results of the forward pass that are kept, and where.
struct Saved {
  std::vector<ValueId> values;
  std::vector<Keep> places;
};

Saved saved_values(const Joint& joint, const RematPolicy& policy) {
  Saved saved;
  for (int32_t index = 0; policy && index < joint.forward_end; ++index) {
    const Node& node = joint.graph->node(index);
    const Keep place = node.op == &kParameter ? Keep::kNot : policy(node);
    if (place == Keep::kNot) continue;
    for (int32_t output = 0; output < static_cast<int32_t>(node.shapes.size()); ++output) {
      saved.values.push_back({index, output});
      saved.places.push_back(place);
    }
  }
  return saved;
}

// Makes the forward pass return what is saved too; returns the new outputs. What goes to the host
// goes there inside the forward pass: a loop around it then stacks what is already there.
std::vector<Value> keep(Vjp& v, const Joint& joint, const Saved& saved) {
  const std::shared_ptr<Graph> body = forward_body(v.graph(), joint, saved.values);
  std::vector<Value> outputs;
  for (ValueId id : body->outputs()) outputs.push_back(body->value(id));
  auto first = static_cast<int32_t>(v.node().shapes.size());
  std::vector<Shape> shapes;
  std::vector<Value> kept;
  for (size_t i = 0; i < saved.values.size(); ++i) {
    Value& output = outputs[first + i];
    if (saved.places[i] == Keep::kOnHost) output = transfer_to_memory(output, kPinnedHostMemory);
    shapes.push_back(output.shape());
    kept.push_back(v.graph().value({v.node_index(), first + static_cast<int32_t>(i)}));
  }
  body->set_outputs(outputs);
  v.graph().extend_node(v.node_index(), v.node().attrs, {body}, std::move(shapes));
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
  const Saved saved = saved_values(joint, v.attr<CheckpointAttrs>().policy);
  const size_t arguments = inputs.size();
  if (!saved.values.empty()) {
    for (Value value : keep(v, joint, saved)) inputs.push_back(value);
  }
  // Behind the barrier, so that the compiler cannot merge the second computation with the first.
  inputs = optimization_barrier(inputs);
  Replacements replaced;
  for (size_t i = 0; i < saved.values.size(); ++i) {
    // Back from the host behind the barrier, or all layers' values would come back at once.
    const Value kept = inputs[arguments + i];
    replaced[saved.values[i].node].push_back(
        saved.places[i] == Keep::kOnHost ? transfer_to_memory(kept, kDeviceMemory) : kept);
  }
  replace_what_names_stand_for(*joint.graph, replaced);
  inputs.resize(arguments);
  inputs.insert(inputs.end(), joint.captures().begin(), joint.captures().end());
  const GraphCopy copy = copy_graph(*joint.graph, v.graph(), inputs, replaced);
  for (size_t k = 0; k < joint.wanted.size(); ++k) v.set_grad(joint.wanted[k], copy.outputs[k]);
}

std::vector<Shape> infer_same(const InferContext& context) { return {context.operands[0]}; }
void identity_vjp(Vjp& v) { v.set_grad(0, v.cotangent()); }

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const OpDef kCheckpoint = {.name = "checkpoint", .infer = infer_inlined, .vjp = checkpoint_vjp};
const OpDef kCheckpointName = {.name = "checkpoint_name", .infer = infer_same, .vjp = identity_vjp};
const OpDef kTransferToMemory = {
    .name = "transfer_to_memory", .infer = infer_same, .vjp = identity_vjp};

RematPolicy save_nothing() {
  return [](const Node&) { return Keep::kNot; };
}
RematPolicy save_dots() {
  return [](const Node& node) {
    return node.op->name == "dot_general" ? Keep::kOnDevice : Keep::kNot;
  };
}
RematPolicy save_names(std::vector<std::string> on_device, std::vector<std::string> on_host) {
  return [on_device = std::move(on_device), on_host = std::move(on_host)](const Node& node) {
    if (node.op != &kCheckpointName) return Keep::kNot;
    const std::string& name = node.attr<NameAttrs>().name;
    if (contains(on_host, name)) return Keep::kOnHost;
    return contains(on_device, name) ? Keep::kOnDevice : Keep::kNot;
  };
}

std::vector<Value> checkpoint(const Branch& f, std::span<const Value> args, RematPolicy policy) {
  return add_inlined(kCheckpoint, f, args, CheckpointAttrs{std::move(policy)});
}

Value checkpoint_name(Value x, std::string name) {
  return apply(kCheckpointName, {x}, NameAttrs{std::move(name)});
}

Value transfer_to_memory(Value x, std::string_view kind) {
  return apply(kTransferToMemory, {x}, NameAttrs{std::string(kind)});
}

}  // namespace tessera
