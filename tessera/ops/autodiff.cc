#include "tessera/ops/autodiff.h"

#include <algorithm>
#include <map>

#include "tessera/ir/op.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/outer_paths_internal.h"

namespace tessera {
namespace {

/// One reverse sweep over a graph.
class Sweep {
 public:
  Sweep(Graph& graph, std::span<const Value> xs)
      : graph_(graph), end_(graph.size()), uses_(end_), pending_(end_) {
    for (Value x : xs) leaves_.insert({x.id(), Value()});
    mark_users();
  }

  void seed(Value y, Value cotangent) { flow(y.id(), cotangent); }

  void run() {
    for (int32_t index = end_ - 1; index >= 0; --index) {
      if (uses_[index] && !pending_[index].empty()) visit(index);
    }
  }

  /// Whether any cotangent has come to a leaf.
  bool reached(Value x) const { return leaves_.at(x.id()).defined(); }

  Value gradient(Value x) {
    const Value found = leaves_.at(x.id());
    return found.defined() ? found : zeros_like(x);
  }

 private:
  bool is_leaf(ValueId id) const { return leaves_.count(id) > 0; }

  // A value depends on the xs when it is one, or its node uses one.
  bool value_depends(ValueId id) const {
    if (!is_floating(graph_.shape(id).dtype)) return false;
    return is_leaf(id) || uses_[id.node];
  }

  void mark_users() {
    for (int32_t index = 0; index < end_; ++index) {
      const Node& node = graph_.node(index);
      uses_[index] =
          !node.op->zero_gradient && std::any_of(node.operands.begin(), node.operands.end(),
                                                 [&](ValueId id) { return value_depends(id); });
    }
  }

  void flow(ValueId id, Value cotangent) {
    if (auto leaf = leaves_.find(id); leaf != leaves_.end()) {
      leaf->second = leaf->second.defined() ? add(leaf->second, cotangent) : cotangent;
      return;
    }
    auto& outputs = pending_[id.node];
    outputs.resize(graph_.node(id.node).shapes.size());
    Value& sum = outputs[id.output];
    sum = sum.defined() ? add(sum, cotangent) : cotangent;
  }

  void visit(int32_t index) {
    const auto guard = graph_.scope_of(graph_.node(index));
    const OpDef& op = *graph_.node(index).op;
    std::vector<bool> needed;
    for (ValueId id : graph_.node(index).operands) needed.push_back(value_depends(id));
    if (op.vjp == nullptr) {
      fail("[", op.name, "] cannot be differentiated: ", op.no_gradient, " (",
           graph_.current_scope(), ")");
    }
    std::vector<Value> cotangents = std::move(pending_[index]);
    cotangents.resize(graph_.node(index).shapes.size());
    Vjp vjp(graph_, index, std::move(cotangents), std::move(needed));
    op.vjp(vjp);
    for (int i = 0; i < static_cast<int>(vjp.grads().size()); ++i) {
      const Value grad = vjp.grads()[i];
      if (!vjp.needs(i) || !grad.defined()) continue;
      const Value operand = vjp.operand(i);
      CHECK_MSG(grad.shape() == operand.shape(),
                str_cat("the gradient of ", op.name, " for operand ", i, " is ",
                        to_string(grad.shape()), ", not ", to_string(operand.shape())));
      flow(operand.id(), grad);
    }
  }

  Graph& graph_;
  const int32_t end_;
  std::vector<bool> uses_;  // by node: whether an operand depends on the xs
  std::map<ValueId, Value> leaves_;
  std::vector<std::vector<Value>> pending_;  // cotangents that have reached a node's outputs
};

}  // namespace

std::vector<Value> gradients(std::span<const Value> ys, std::span<const Value> cotangents,
                             std::span<const Value> xs) {
  if (ys.size() != cotangents.size())
    fail("[grad] got ", cotangents.size(), " cotangents for ", ys.size(), " outputs");
  std::vector<Value> all(ys.begin(), ys.end());
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  all.insert(all.end(), xs.begin(), xs.end());
  if (all.empty()) return {};
  Graph& graph = innermost_graph(all);
  std::vector<Value> leaves;
  for (Value x : xs) {
    if (!is_floating(x.dtype()))
      fail("[grad] cannot differentiate with respect to ", to_string(x.shape()));
    leaves.push_back(graph.import(x));
  }
  std::vector<Value> outputs;
  for (Value y : ys) outputs.push_back(graph.import(y));
  OuterPaths outside(graph, xs);
  std::vector<Value> stops = leaves;
  stops.insert(stops.end(), outside.captured().begin(), outside.captured().end());
  Sweep sweep(graph, stops);
  for (size_t i = 0; i < ys.size(); ++i) {
    if (cotangents[i].shape() != ys[i].shape()) {
      fail("[grad] the cotangent of output ", i, " is ", to_string(cotangents[i].shape()),
           " but the output is ", to_string(ys[i].shape()));
    }
    sweep.seed(outputs[i], cotangents[i]);
  }
  sweep.run();
  std::vector<Value> result;
  for (Value leaf : leaves) result.push_back(graph.import(sweep.gradient(leaf)));
  std::vector<Value> rebuilt, flows;
  for (size_t i = 0; i < outside.captured().size(); ++i) {
    if (!sweep.reached(outside.captured()[i])) continue;
    rebuilt.push_back(outside.rebuild(i));
    flows.push_back(sweep.gradient(outside.captured()[i]));
  }
  if (rebuilt.empty()) return result;
  const std::vector<Value> more = gradients(rebuilt, flows, leaves);
  for (size_t i = 0; i < result.size(); ++i) result[i] = add(result[i], more[i]);
  return result;
}

std::vector<Value> gradients(Value y, std::span<const Value> xs) {
  if (y.rank() != 0) fail("[grad] differentiates a scalar, got ", to_string(y.shape()));
  if (!is_floating(y.dtype()))
    fail("[grad] differentiates a floating result, got ", to_string(y.shape()));
  const Value one = ones_like(y);
  return gradients(std::span(&y, 1), std::span(&one, 1), xs);
}

std::function<std::pair<Value, std::vector<Value>>(std::span<const Value>)> value_and_grad(
    ScalarFn f) {
  return [f = std::move(f)](std::span<const Value> xs) {
    const Value y = f(xs);
    return std::make_pair(y, gradients(y, xs));
  };
}

ManyFn grad(ScalarFn f) {
  return [f = std::move(f)](std::span<const Value> xs) { return gradients(f(xs), xs); };
}

}  // namespace tessera
