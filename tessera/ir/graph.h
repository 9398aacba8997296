#pragma once

#include <any>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/ir/shape.h"

namespace tessera {

class Graph;
struct OpDef;

/// What graph building throws when a shape, dtype or attribute is wrong; trace() turns it into a
/// Status.
class TraceError : public std::exception {
 public:
  explicit TraceError(Status status) : status_(std::move(status)), text_(status_.ToString()) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Status status_;
  std::string text_;
};

/// Throws TraceError with the parts of the message joined: `fail("[slice] start ", a, " is past the
/// end")`.
template <typename... Args>
[[noreturn]] void fail(const Args&... args) {
  throw TraceError(invalid_argument(args...));
}

/// Which output of which node of a graph.
struct ValueId {
  int32_t node = -1;
  int32_t output = 0;
  auto operator<=>(const ValueId&) const = default;
};

/// A symbolic tensor: a handle to one output of one node. Cheap to copy; valid as long as its graph
/// lives.
class Value {
 public:
  Value() = default;
  Value(Graph* graph, ValueId id) : graph_(graph), id_(id) {}

  bool defined() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  ValueId id() const { return id_; }
  const Shape& shape() const;
  DType dtype() const { return shape().dtype; }
  const Dims& dims() const { return shape().dims; }
  int rank() const { return shape().rank(); }
  /// Size of a dimension; negative counts from the end.
  int64_t dim(int index) const { return shape().dim(index); }

  bool same_as(Value other) const { return graph_ == other.graph_ && id_ == other.id_; }

 private:
  Graph* graph_ = nullptr;
  ValueId id_;
};

/// One application of an op. Regions are the bodies of control flow; they are shared and never
/// changed once built.
struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> operands;
  std::vector<Shape> shapes;  ///< of the outputs
  std::any attrs;             ///< the op family's attribute struct, empty when it has none
  std::vector<std::shared_ptr<const Graph>> regions;
  int32_t scope = 0;  ///< see Graph::scope_name

  template <typename T>
  const T& attr() const {
    const T* value = std::any_cast<T>(&attrs);
    CHECK_MSG(value != nullptr, "attributes of another type");
    return *value;
  }
};

/// A program without values: nodes in the order in which they were added, which is a topological
/// one.
///
/// A graph may be the body of a region of a node in its parent. Using a parent's value in a body is
/// allowed: it becomes a capture, that is, one more parameter of the body and one more operand of
/// the node. Not thread-safe.
class Graph {
 public:
  Graph() = default;
  explicit Graph(Graph* parent)
      : parent_(parent), root_(parent->root_), depth_(parent->depth_ + 1) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// A new parameter after those that exist. `name` shows in messages and in the printed program's
  /// locations.
  Value parameter(Shape shape, std::string name = "");

  /// Adds a node, with shapes by the op's rule; throws TraceError. Operands of ancestors become
  /// captures. Returns the outputs.
  std::vector<Value> add(const OpDef& op, std::span<const Value> operands, std::any attrs = {},
                         std::vector<std::shared_ptr<const Graph>> regions = {});

  /// `value` as seen in this graph: itself, or a capture when it belongs to an ancestor.
  Value import(Value value);

  void set_outputs(std::vector<Value> outputs);
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<ValueId>& parameters() const { return parameters_; }
  const std::string& parameter_name(int index) const { return parameter_names_[index]; }
  /// Values of the parent that the body uses; their parameters stand last, in this order.
  const std::vector<Value>& captures() const { return captures_; }

  const Node& node(int32_t index) const { return nodes_[index]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const Shape& shape(ValueId id) const { return nodes_[id.node].shapes[id.output]; }
  Value value(ValueId id) { return Value(this, id); }
  Graph* parent() const { return parent_; }
  /// 0 for a program, one more for each level of region.
  int depth() const { return depth_; }

  /// Replaces a node's regions and attributes by ones that compute the same outputs and more; the
  /// new ones' shapes come last. Differentiating a loop uses it, to make the forward loop keep what
  /// the reverse one needs.
  void extend_node(int32_t index, std::any attrs, std::vector<std::shared_ptr<const Graph>> regions,
                   std::vector<Shape> more_shapes);

  /// Names nodes added while the returned guard lives: "layers.attention". Nested scopes join with
  /// dots.
  class ScopeGuard {
   public:
    ScopeGuard(Graph* root, int32_t previous) : root_(root), previous_(previous) {}
    ScopeGuard(ScopeGuard&& other)
        : root_(std::exchange(other.root_, nullptr)), previous_(other.previous_) {}
    ScopeGuard& operator=(ScopeGuard&&) = delete;
    ~ScopeGuard() {
      if (root_) root_->current_scope_ = previous_;
    }

   private:
    Graph* root_;
    int32_t previous_;
  };
  [[nodiscard]] ScopeGuard scope(std::string_view name);
  /// The same for a scope that a node already has: gradients stand in the scope of what they are
  /// gradients of.
  [[nodiscard]] ScopeGuard scope_of(const Node& node);
  /// Whether both are the program or bodies of one program: then they share scopes.
  bool same_program(const Graph& other) const { return root_ == other.root_; }
  const std::string& scope_name(int32_t scope) const { return root().scopes_[scope]; }
  /// The scope that nodes added now get.
  const std::string& current_scope() const { return root().scopes_[root().current_scope_]; }

  /// A fresh number, unique in the whole program: for ops that need a name of their own.
  int64_t next_unique() { return root().unique_++; }

 private:
  Graph& root() { return *root_; }
  const Graph& root() const { return *root_; }

  Graph* parent_ = nullptr;
  // Not looked up through the parents: a finished body may outlive the graph that it was built in.
  Graph* root_ = this;
  int depth_ = 0;
  std::deque<Node> nodes_;  // a deque, so that references to nodes and shapes survive additions
  std::vector<ValueId> parameters_;
  std::vector<std::string> parameter_names_;
  std::vector<ValueId> outputs_;
  std::vector<Value> captures_;
  std::map<std::pair<const Graph*, ValueId>, ValueId> capture_of_;
  // Of the root only: the names of scopes; bodies share them.
  std::vector<std::string> scopes_ = {""};
  std::map<std::string, int32_t, std::less<>> scope_index_ = {{"", 0}};
  int32_t current_scope_ = 0;
  int64_t unique_ = 0;
};

/// Adds a one-output op to the innermost graph among the operands'. All op builders end here.
Value apply(const OpDef& op, std::initializer_list<Value> operands, std::any attrs = {});
Value apply(const OpDef& op, std::span<const Value> operands, std::any attrs = {});
/// The innermost graph among the operands'; throws when there are none or one is undefined.
Graph& innermost_graph(std::span<const Value> operands);

/// Adds copies of `body`'s nodes to `target` with `arguments` (one for each parameter, captures'
/// last) in place of its parameters. Copies keep their scopes. Nodes that have an entry in
/// `replaced` are not copied: the values given stand for their outputs.
using Replacements = std::map<int32_t, std::vector<Value>>;
struct GraphCopy {
  std::vector<std::vector<Value>> nodes;  ///< by node of the body: what stands for its outputs
  std::vector<Value> outputs;
};
GraphCopy copy_graph(const Graph& body, Graph& target, std::span<const Value> arguments,
                     const Replacements& replaced = {});
/// The outputs of such a copy.
std::vector<Value> inline_graph(const Graph& body, Graph& target, std::span<const Value> arguments);

/// Builds the body of a region: parameters of `shapes`, then `build`, whose results are the
/// outputs. Throws TraceError.
using BodyFn = std::function<std::vector<Value>(Graph& body, std::span<const Value> parameters)>;
std::shared_ptr<Graph> trace_body(Graph& parent, std::span<const Shape> shapes,
                                  const BodyFn& build);

/// Builds a whole program; the one place where TraceError becomes a Status.
struct NamedShape {
  std::string name;
  Shape shape;
};
Result<std::shared_ptr<Graph>> trace(std::span<const NamedShape> parameters, const BodyFn& build);

}  // namespace tessera
