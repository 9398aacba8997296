#include "tessera/ir/graph.h"

#include <optional>

#include "absl/strings/str_join.h"
#include "tessera/ir/op.h"

namespace tessera {
namespace {

std::string operands_to_string(std::span<const Shape> shapes) {
  return absl::StrJoin(shapes, ", ",
                       [](std::string* out, const Shape& shape) { out->append(to_string(shape)); });
}

// "[matmul] what is wrong; operands f32[2,3], f32[4,5] (layers.mlp)".
Status describe(const Status& status, const OpDef& op, std::span<const Shape> shapes,
                std::string_view scope) {
  std::string message(from_absl(status.message()));
  if (message.empty() || message[0] != '[') message = str_cat("[", op.name, "] ", message);
  if (!shapes.empty()) str_append(&message, "; operands ", operands_to_string(shapes));
  if (!scope.empty()) str_append(&message, " (", scope, ")");
  return Status(status.code(), message);
}

bool is_ancestor(const Graph* candidate, const Graph* graph) {
  for (; graph != nullptr; graph = graph->parent()) {
    if (graph == candidate) return true;
  }
  return false;
}

}  // namespace

const OpDef kParameter = {
    .name = "parameter", .no_gradient = "a parameter has no operands", .zero_gradient = true};

TraceError located(const TraceError& error, const OpDef& op, std::span<const Shape> operands,
                   std::string_view scope) {
  return TraceError(describe(error.status(), op, operands, scope));
}

const Shape& Value::shape() const {
  CHECK_MSG(graph_ != nullptr, "an undefined Value has no shape");
  return graph_->shape(id_);
}

Value Graph::parameter(Shape shape, std::string name) {
  const ValueId id{size(), 0};
  nodes_.push_back(
      Node{.op = &kParameter, .shapes = {std::move(shape)}, .scope = root().current_scope_});
  parameters_.push_back(id);
  parameter_names_.push_back(std::move(name));
  return Value(this, id);
}

std::vector<Value> Graph::add(const OpDef& op, std::span<const Value> operands, std::any attrs,
                              std::vector<std::shared_ptr<const Graph>> regions) {
  Node node{.op = &op,
            .attrs = std::move(attrs),
            .regions = std::move(regions),
            .scope = root().current_scope_};
  std::vector<Shape> shapes;
  shapes.reserve(operands.size());
  node.operands.reserve(operands.size());
  for (Value operand : operands) {
    if (!operand.defined()) {
      throw TraceError(
          describe(invalid_argument("an operand is undefined"), op, {}, current_scope()));
    }
    const Value local = import(operand);
    node.operands.push_back(local.id());
    shapes.push_back(local.shape());
  }
  try {
    node.shapes = op.infer(InferContext{shapes, node.attrs, node.regions});
  } catch (const TraceError& error) {
    throw located(error, op, shapes, current_scope());
  }
  const int32_t index = size();
  nodes_.push_back(std::move(node));
  std::vector<Value> outputs;
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.back().shapes.size()); ++i) {
    outputs.push_back(Value(this, {index, i}));
  }
  return outputs;
}

Value Graph::import(Value value) {
  if (&value.graph() == this) return value;
  if (!is_ancestor(&value.graph(), this)) {
    fail(
        "a value of one program or of a finished region is used in another: return it from the "
        "region instead");
  }
  const auto key = std::make_pair(static_cast<const Graph*>(&value.graph()), value.id());
  if (auto found = capture_of_.find(key); found != capture_of_.end())
    return Value(this, found->second);
  const Value outer = parent_->import(value);
  const Value inner = parameter(outer.shape(), "capture");
  captures_.push_back(outer);
  capture_of_[key] = inner.id();
  return inner;
}

void Graph::set_outputs(std::vector<Value> outputs) {
  outputs_.clear();
  for (Value output : outputs) outputs_.push_back(import(output).id());
}

void Graph::extend_node(int32_t index, std::any attrs,
                        std::vector<std::shared_ptr<const Graph>> regions,
                        std::vector<Shape> more_shapes) {
  Node& node = nodes_[index];
  node.attrs = std::move(attrs);
  node.regions = std::move(regions);
  for (Shape& shape : more_shapes) node.shapes.push_back(std::move(shape));
}

Graph::ScopeGuard Graph::scope(std::string_view name) {
  Graph& top = root();
  const std::string& outer = top.scopes_[top.current_scope_];
  std::string full = outer.empty() ? std::string(name) : str_cat(outer, ".", name);
  const int32_t previous = top.current_scope_;
  auto [found, inserted] =
      top.scope_index_.try_emplace(full, static_cast<int32_t>(top.scopes_.size()));
  if (inserted) top.scopes_.push_back(std::move(full));
  top.current_scope_ = found->second;
  return ScopeGuard(&top, previous);
}

Graph::ScopeGuard Graph::scope_of(const Node& node) {
  Graph& top = root();
  const int32_t previous = top.current_scope_;
  top.current_scope_ = node.scope;
  return ScopeGuard(&top, previous);
}

Graph& innermost_graph(std::span<const Value> operands) {
  Graph* innermost = nullptr;
  for (Value operand : operands) {
    if (!operand.defined()) fail("an operand is undefined");
    if (innermost == nullptr || operand.graph().depth() > innermost->depth())
      innermost = &operand.graph();
  }
  if (innermost == nullptr) fail("at least one operand is needed, to know the graph");
  return *innermost;
}

Value apply(const OpDef& op, std::span<const Value> operands, std::any attrs) {
  return innermost_graph(operands).add(op, operands, std::move(attrs))[0];
}

Value apply(const OpDef& op, std::initializer_list<Value> operands, std::any attrs) {
  return apply(op, std::span<const Value>(operands.begin(), operands.size()), std::move(attrs));
}

GraphCopy copy_graph(const Graph& body, Graph& target, std::span<const Value> arguments,
                     const Replacements& replaced) {
  CHECK(arguments.size() == body.parameters().size());
  GraphCopy copy;
  copy.nodes.resize(body.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    copy.nodes[body.parameters()[i].node] = {target.import(arguments[i])};
  }
  std::vector<Value> operands;
  for (int32_t index = 0; index < body.size(); ++index) {
    const Node& node = body.node(index);
    if (node.op == &kParameter) continue;
    if (auto found = replaced.find(index); found != replaced.end()) {
      copy.nodes[index] = found->second;
      continue;
    }
    operands.clear();
    for (ValueId id : node.operands) operands.push_back(copy.nodes[id.node][id.output]);
    std::optional<Graph::ScopeGuard> scope;
    if (body.same_program(target)) scope.emplace(target.scope_of(node));
    copy.nodes[index] = target.add(*node.op, operands, node.attrs, node.regions);
  }
  for (ValueId id : body.outputs()) copy.outputs.push_back(copy.nodes[id.node][id.output]);
  return copy;
}

std::vector<Value> inline_graph(const Graph& body, Graph& target,
                                std::span<const Value> arguments) {
  return copy_graph(body, target, arguments).outputs;
}

std::shared_ptr<Graph> trace_body(Graph& parent, std::span<const Shape> shapes,
                                  const BodyFn& build) {
  auto body = std::make_shared<Graph>(&parent);
  std::vector<Value> parameters;
  for (const Shape& shape : shapes) parameters.push_back(body->parameter(shape));
  body->set_outputs(build(*body, parameters));
  return body;
}

Result<std::shared_ptr<Graph>> trace(std::span<const NamedShape> parameters, const BodyFn& build) {
  try {
    auto graph = std::make_shared<Graph>();
    std::vector<Value> values;
    for (const NamedShape& parameter : parameters)
      values.push_back(graph->parameter(parameter.shape, parameter.name));
    graph->set_outputs(build(*graph, values));
    return graph;
  } catch (const TraceError& error) {
    return error.status();
  }
}

}  // namespace tessera
