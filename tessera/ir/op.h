#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tessera/ir/graph.h"

namespace tessera {

/// What a shape rule sees of the node that is being added.
struct InferContext {
  std::span<const Shape> operands;
  const std::any& attrs;
  std::span<const std::shared_ptr<const Graph>> regions;

  template <typename T>
  const T& attr() const {
    const T* value = std::any_cast<T>(&attrs);
    CHECK_MSG(value != nullptr, "attributes of another type");
    return *value;
  }
};

/// What a gradient rule sees, and where it leaves its results. Rules are written in ops, so they
/// differentiate again.
class Vjp {
 public:
  /// `cotangents`: one for each output, undefined where nothing flows back. `needed`: one for each
  /// operand.
  Vjp(Graph& graph, int32_t node, std::vector<Value> cotangents, std::vector<bool> needed)
      : graph_(graph),
        node_(node),
        cotangents_(std::move(cotangents)),
        needed_(std::move(needed)),
        grads_(needed_.size()) {}

  Graph& graph() const { return graph_; }
  int32_t node_index() const { return node_; }
  const Node& node() const { return graph_.node(node_); }
  template <typename T>
  const T& attr() const {
    return node().attr<T>();
  }
  int operands() const { return static_cast<int>(node().operands.size()); }
  Value operand(int i) const { return graph_.value(node().operands[i]); }
  Value output(int i = 0) const { return graph_.value({node_, i}); }

  /// Of output i; of a rule for one output it is always defined, of others see has_cotangent.
  Value cotangent(int i = 0) const { return cotangents_[i]; }
  bool has_cotangent(int i) const { return cotangents_[i].defined(); }
  /// Whether operand i leads to anything that is differentiated with respect to: skip the work if
  /// not.
  bool needs(int i) const { return needed_[i]; }

  /// The cotangent of operand i: of the operand's shape and dtype. Operands without one get
  /// nothing.
  void set_grad(int i, Value grad) { grads_[i] = grad; }
  const std::vector<Value>& grads() const { return grads_; }

 private:
  Graph& graph_;
  int32_t node_;
  std::vector<Value> cotangents_;
  std::vector<bool> needed_;
  std::vector<Value> grads_;
};

/// An op: its name, shape rule and gradient. One constant object each, compared by address; the
/// emitter of the same name stands in stablehlo/.
struct OpDef {
  std::string_view name;
  /// Shapes of the outputs. Throws TraceError (by fail()) without the op's name, which Graph::add
  /// puts in front.
  std::vector<Shape> (*infer)(const InferContext&) = nullptr;
  /// Null when there is none; then `no_gradient` says why, in a sentence for the user.
  void (*vjp)(Vjp&) = nullptr;
  std::string_view no_gradient;
  /// The gradient is zero everywhere (comparisons, rounding, integer results): nothing flows back
  /// and that is no error.
  bool zero_gradient = false;
};

/// What is wrong with the operands of an op, as Graph::add reports its rule's complaint: with the
/// op's name in front, the operands' shapes and the scope behind. For builders that must check
/// before there is a node.
TraceError located(const TraceError& error, const OpDef& op, std::span<const Shape> operands,
                   std::string_view scope);

/// The one op that ir knows itself: a parameter of a graph.
extern const OpDef kParameter;

}  // namespace tessera
