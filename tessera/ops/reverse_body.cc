#include <algorithm>
#include <string_view>

#include "tessera/ops/reverse_body_internal.h"

namespace tessera {
namespace {

// Whether a node gives fewer bits than it takes, as a conversion from f32 to bf16 does: then to
// keep what it gives costs less memory than to keep what it would be recomputed from.
bool narrows(const Graph& graph, const Node& node) {
  return node.op->name == "convert" &&
         dtype_bits(node.shapes[0].dtype) < dtype_bits(graph.shape(node.operands[0]).dtype);
}

}  // namespace

ReverseBody::ReverseBody(const Joint& joint, int carries, int slices)
    : joint_(joint), carries_(carries), slices_(slices) {
  for (size_t i = 0; i < joint.parameters.size(); ++i)
    parameter_of_[joint.parameters[i].id()] = static_cast<int>(i);
  mark_invariant();
  for (Value gradient : joint.gradients) require(gradient.id());
  drop_what_others_give();
}

std::vector<Value> ReverseBody::build(Graph& target, std::map<ValueId, Value> known) const {
  for (int32_t index = 0; index < joint_.graph->size(); ++index) {
    if (!copied_.count(index)) continue;
    const Node& node = joint_.graph->node(index);
    std::vector<Value> operands;
    for (ValueId id : node.operands) operands.push_back(known.at(id));
    const auto scope = target.scope_of(node);
    const std::vector<Value> outputs = target.add(*node.op, operands, node.attrs, node.regions);
    for (int32_t i = 0; i < static_cast<int32_t>(outputs.size()); ++i)
      known.insert({{index, i}, outputs[i]});
  }
  std::vector<Value> result;
  for (Value gradient : joint_.gradients) result.push_back(known.at(gradient.id()));
  return result;
}

// Whether a forward node gives the same in each run: then it is recomputed, not kept.
void ReverseBody::mark_invariant() {
  invariant_.resize(joint_.forward_end);
  for (int32_t index = 0; index < joint_.forward_end; ++index) {
    const Node& node = joint_.graph->node(index);
    if (node.op == &kParameter) {
      invariant_[index] = parameter_of_.at({index, 0}) >= carries_ + slices_;
      continue;
    }
    invariant_[index] = std::all_of(node.operands.begin(), node.operands.end(),
                                    [&](ValueId id) { return invariant_[id.node]; });
  }
}

void ReverseBody::require(ValueId id) {
  if (!seen_.insert({id, true}).second) return;
  if (auto found = parameter_of_.find(id); found != parameter_of_.end()) {
    // A carry differs from step to step: the forward loop stacks what each step began with.
    if (found->second < carries_)
      residuals_.push_back(id);
    else
      from_outside_.push_back(found->second);
    return;
  }
  const Node& node = joint_.graph->node(id.node);
  if (node.op == &kParameter) return;  // a cotangent or a capture: always there
  const bool forward = id.node < joint_.forward_end;
  if (forward && !is_given(id, {}) && (!is_cheap(node) || narrows(*joint_.graph, node))) {
    residuals_.push_back(id);
    return;
  }
  copied_.insert({id.node, true});
  for (ValueId operand : node.operands) require(operand);
}

// A slice of what is always there, such as the weights that a step uses, is cut again rather than
// kept for every step.
bool ReverseBody::is_cheap(const Node& node) const {
  for (std::string_view cheap :
       {"constant", "full", "iota", "broadcast_in_dim", "reshape", "convert", "constrain"}) {
    if (node.op->name == cheap) return true;
  }
  return node.op->name == "dynamic_slice" && invariant_[node.operands[0].node];
}

bool ReverseBody::is_given(ValueId id, std::span<const ValueId> kept) const {
  if (invariant_[id.node] || std::find(kept.begin(), kept.end(), id) != kept.end()) return true;
  const Node& node = joint_.graph->node(id.node);
  if (node.op == &kParameter) return parameter_of_.at(id) >= carries_;
  return is_cheap(node) && std::all_of(node.operands.begin(), node.operands.end(),
                                       [&](ValueId operand) { return is_given(operand, kept); });
}

void ReverseBody::drop_what_others_give() {
  const std::vector<ValueId> kept = std::move(residuals_);
  residuals_.clear();
  for (ValueId id : kept) {
    const Node& node = joint_.graph->node(id.node);
    if (node.op != &kParameter && narrows(*joint_.graph, node) &&
        is_given(node.operands[0], kept)) {
      copied_.insert({id.node, true});
      require(node.operands[0]);
    } else {
      residuals_.push_back(id);
    }
  }
}

}  // namespace tessera
