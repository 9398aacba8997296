#include "tessera/ops/control.h"

#include <algorithm>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/registry.h"

namespace tessera {
namespace {

std::vector<Shape> infer_inlined(const InferContext& context) {
  require_parameters(*context.regions[0], context.operands);
  return output_shapes(*context.regions[0]);
}

// Traces two bodies over the same arguments and gives both the same parameters: arguments, then
// what either captured.
struct TwoBodies {
  std::vector<std::shared_ptr<const Graph>> bodies;
  std::vector<Value> captures;
};
TwoBodies trace_two(Graph& graph, std::span<const Shape> arguments, const BodyFn& first,
                    const BodyFn& second) {
  const std::shared_ptr<Graph> traced[] = {trace_body(graph, arguments, first),
                                           trace_body(graph, arguments, second)};
  TwoBodies result;
  std::vector<Shape> shapes(arguments.begin(), arguments.end());
  for (const auto& body : traced) {
    for (Value capture : body->captures()) {
      result.captures.push_back(capture);
      shapes.push_back(capture.shape());
    }
  }
  size_t offset = arguments.size();
  for (const auto& body : traced) {
    const size_t captures = body->captures().size();
    result.bodies.push_back(
        trace_body(graph, shapes, [&](Graph& target, std::span<const Value> parameters) {
          std::vector<Value> used(parameters.begin(), parameters.begin() + arguments.size());
          used.insert(used.end(), parameters.begin() + offset,
                      parameters.begin() + offset + captures);
          return inline_graph(*body, target, used);
        }));
    offset += captures;
  }
  return result;
}

// ---- while

std::vector<Shape> infer_while(const InferContext& context) {
  const int state = context.attr<WhileAttrs>().state;
  for (const auto& region : context.regions) require_parameters(*region, context.operands);
  const std::vector<Shape> condition = output_shapes(*context.regions[0]);
  if (condition.size() != 1 || condition[0] != Shape{DType::kBool, {}})
    fail("the condition must give one bool[]");
  const std::vector<Shape> results = output_shapes(*context.regions[1]);
  const std::vector<Shape> required(context.operands.begin(), context.operands.begin() + state);
  if (results != required) fail("the body must give values of the state's shapes and dtypes");
  return results;
}

// ---- cond

std::vector<Shape> infer_cond(const InferContext& context) {
  if (context.operands[0] != Shape{DType::kBool, {}}) {
    fail("the predicate must be bool[], got ", to_string(context.operands[0]));
  }
  for (const auto& region : context.regions)
    require_parameters(*region, context.operands.subspan(1));
  const std::vector<Shape> results = output_shapes(*context.regions[0]);
  if (results != output_shapes(*context.regions[1]))
    fail("the two branches give different shapes or dtypes");
  return results;
}

void cond_vjp(Vjp& v) {
  const std::vector<Value> cotangents = floating_cotangents(v);
  std::vector<int> needed;
  for (int i = 1; i < v.operands(); ++i) {
    if (v.needs(i)) needed.push_back(i);
  }
  std::vector<Value> operands;
  for (int i = 1; i < v.operands(); ++i) operands.push_back(v.operand(i));
  auto branch = [&](int region) -> Branch {
    return [&v, &cotangents, &needed,
            body = v.node().regions[region]](std::span<const Value> parameters) {
      Graph& graph = parameters[0].graph();
      const std::vector<Value> results = inline_graph(*body, graph, parameters);
      std::vector<Value> xs;
      for (int i : needed) xs.push_back(parameters[i - 1]);
      return gradients(only_floating(results), cotangents, xs);
    };
  };
  const std::vector<Value> grads = cond(v.operand(0), branch(0), branch(1), operands);
  for (size_t k = 0; k < needed.size(); ++k) v.set_grad(needed[k], grads[k]);
}

// ---- rematerialization

// Makes the forward pass return the values that the policy keeps; returns them by node of the body.
Replacements keep_saved_values(Vjp& v) {
  const Node& node = v.node();
  const std::shared_ptr<const Graph> held = node.regions[0];  // extend_node replaces the node's own
  const Graph& body = *held;
  const RematPolicy& policy = v.attr<CheckpointAttrs>().policy;
  std::vector<int32_t> saved;
  for (int32_t index = 0; index < body.size(); ++index) {
    const bool is_parameter = body.node(index).op == &kParameter;
    if (!is_parameter && policy && policy(body.node(index))) saved.push_back(index);
  }
  if (saved.empty()) return {};
  auto extended = std::make_shared<Graph>(&v.graph());
  std::vector<Value> parameters;
  for (ValueId id : body.parameters()) parameters.push_back(extended->parameter(body.shape(id)));
  const GraphCopy copy = copy_graph(body, *extended, parameters);
  std::vector<Value> outputs = copy.outputs;
  std::vector<Shape> more;
  for (int32_t index : saved) {
    for (Value value : copy.nodes[index]) {
      outputs.push_back(value);
      more.push_back(value.shape());
    }
  }
  extended->set_outputs(outputs);
  int output = static_cast<int>(node.shapes.size());
  Replacements replaced;
  for (int32_t index : saved) {
    for (size_t i = 0; i < body.node(index).shapes.size(); ++i)
      replaced[index].push_back(Value(&v.graph(), {v.node_index(), output++}));
  }
  v.graph().extend_node(v.node_index(), node.attrs, {extended}, more);
  return replaced;
}

void checkpoint_vjp(Vjp& v) {
  const std::shared_ptr<const Graph> body = v.node().regions[0];
  const std::vector<Value> cotangents = floating_cotangents(v);
  const Replacements replaced = keep_saved_values(v);
  // Behind the barrier, so that the compiler cannot merge the second computation with the first.
  std::vector<Value> fenced;
  for (int i = 0; i < v.operands(); ++i) fenced.push_back(v.operand(i));
  fenced.insert(fenced.end(), cotangents.begin(), cotangents.end());
  fenced = optimization_barrier(fenced);
  const std::span<const Value> operands(fenced.data(), v.operands());
  const std::span<const Value> fenced_cotangents(fenced.data() + v.operands(), cotangents.size());
  const std::vector<Value> again = copy_graph(*body, v.graph(), operands, replaced).outputs;
  std::vector<Value> xs;
  for (int i = 0; i < v.operands(); ++i) {
    if (v.needs(i)) xs.push_back(operands[i]);
  }
  const std::vector<Value> grads = gradients(only_floating(again), fenced_cotangents, xs);
  for (int i = 0, k = 0; i < v.operands(); ++i) {
    if (v.needs(i)) v.set_grad(i, grads[k++]);
  }
}

std::vector<Shape> infer_same(const InferContext& context) { return {context.operands[0]}; }

// ---- custom gradients, calls, barriers

void custom_gradient_vjp(Vjp& v) {
  const auto& attrs = v.attr<CustomGradientAttrs>();
  for (int i = attrs.args; i < v.operands(); ++i) {
    if (v.needs(i))
      fail("[custom_gradient] a value used from outside needs a gradient: pass it as an argument");
  }
  std::vector<Value> args, results, cotangents;
  for (int i = 0; i < attrs.args; ++i) args.push_back(v.operand(i));
  for (int i = 0; i < static_cast<int>(v.node().shapes.size()); ++i) {
    results.push_back(v.output(i));
    cotangents.push_back(v.has_cotangent(i) ? v.cotangent(i) : zeros_like(v.output(i)));
  }
  const std::vector<Value> grads = attrs.vjp(args, results, cotangents);
  if (grads.size() != args.size()) {
    fail("[custom_gradient] the gradient gives ", grads.size(), " values for ", args.size(),
         " arguments");
  }
  for (int i = 0; i < attrs.args; ++i) {
    if (!v.needs(i) || !grads[i].defined()) continue;
    if (grads[i].shape() != args[i].shape()) {
      fail("[custom_gradient] the gradient of argument ", i, " is ", to_string(grads[i].shape()),
           " but the argument is ", to_string(args[i].shape()));
    }
    v.set_grad(i, grads[i]);
  }
}

std::vector<Shape> infer_custom_call(const InferContext& context) {
  const auto& attrs = context.attr<CustomCallAttrs>();
  if (attrs.target.empty()) fail("the target's name is empty");
  return attrs.results;
}

std::vector<Shape> infer_barrier(const InferContext& context) {
  return {context.operands.begin(), context.operands.end()};
}

void barrier_vjp(Vjp& v) {
  std::vector<int> which;
  std::vector<Value> cotangents;
  for (int i = 0; i < v.operands(); ++i) {
    if (!v.needs(i) || !v.has_cotangent(i)) continue;
    which.push_back(i);
    cotangents.push_back(v.cotangent(i));
  }
  if (which.empty()) return;
  const std::vector<Value> grads = optimization_barrier(cotangents);
  for (size_t k = 0; k < which.size(); ++k) v.set_grad(which[k], grads[k]);
}

}  // namespace

const OpDef kWhile = {
    .name = "while",
    .infer = infer_while,
    .no_gradient =
        "the number of steps is not known in advance; use scan, which has a fixed length"};
const OpDef kCond = {.name = "cond", .infer = infer_cond, .vjp = cond_vjp};
const OpDef kCheckpoint = {.name = "checkpoint", .infer = infer_inlined, .vjp = checkpoint_vjp};
const OpDef kCheckpointName = {.name = "checkpoint_name", .infer = infer_same, .vjp = [](Vjp& v) {
                                 v.set_grad(0, v.cotangent());
                               }};
const OpDef kCustomGradient = {
    .name = "custom_gradient", .infer = infer_inlined, .vjp = custom_gradient_vjp};
const OpDef kCustomCall = {
    .name = "custom_call",
    .infer = infer_custom_call,
    .no_gradient = "nothing is known of what it computes; wrap it in custom_gradient"};
const OpDef kOptimizationBarrier = {
    .name = "optimization_barrier", .infer = infer_barrier, .vjp = barrier_vjp};

std::vector<Shape> shapes_of(std::span<const Value> values) {
  std::vector<Shape> shapes;
  for (Value value : values) shapes.push_back(value.shape());
  return shapes;
}

std::vector<Shape> output_shapes(const Graph& body) {
  std::vector<Shape> shapes;
  for (ValueId id : body.outputs()) shapes.push_back(body.shape(id));
  return shapes;
}

void require_parameters(const Graph& body, std::span<const Shape> operands) {
  if (body.parameters().size() != operands.size()) {
    fail("the body takes ", body.parameters().size(), " values but gets ", operands.size());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const Shape& parameter = body.shape(body.parameters()[i]);
    if (parameter != operands[i]) {
      fail("the body's parameter ", i, " is ", to_string(parameter), " but gets ",
           to_string(operands[i]));
    }
  }
}

std::vector<Value> floating_cotangents(const Vjp& v) {
  std::vector<Value> cotangents;
  for (int i = 0; i < static_cast<int>(v.node().shapes.size()); ++i) {
    if (!is_floating(v.node().shapes[i].dtype)) continue;
    cotangents.push_back(v.has_cotangent(i) ? v.cotangent(i) : zeros_like(v.output(i)));
  }
  return cotangents;
}

std::vector<Value> only_floating(std::span<const Value> values) {
  std::vector<Value> floating;
  for (Value value : values) {
    if (is_floating(value.dtype())) floating.push_back(value);
  }
  return floating;
}

std::vector<Value> while_loop(const WhileCondition& condition, const WhileBody& body,
                              std::span<const Value> init) {
  if (init.empty()) fail("[while] the state is empty");
  Graph& graph = innermost_graph(init);
  const TwoBodies two = trace_two(
      graph, shapes_of(init),
      [&](Graph&, std::span<const Value> state) { return std::vector{condition(state)}; },
      [&](Graph&, std::span<const Value> state) { return body(state); });
  std::vector<Value> operands(init.begin(), init.end());
  operands.insert(operands.end(), two.captures.begin(), two.captures.end());
  return graph.add(kWhile, operands, WhileAttrs{static_cast<int>(init.size())}, two.bodies);
}

std::vector<Value> cond(Value predicate, const Branch& on_true, const Branch& on_false,
                        std::span<const Value> operands) {
  std::vector<Value> all = {predicate};
  all.insert(all.end(), operands.begin(), operands.end());
  Graph& graph = innermost_graph(all);
  const TwoBodies two = trace_two(
      graph, shapes_of(operands),
      [&](Graph&, std::span<const Value> parameters) { return on_true(parameters); },
      [&](Graph&, std::span<const Value> parameters) { return on_false(parameters); });
  all.insert(all.end(), two.captures.begin(), two.captures.end());
  return graph.add(kCond, all, {}, two.bodies);
}

namespace {

// An op whose body is printed in place: operands are the arguments, then the captures.
std::vector<Value> add_inlined(const OpDef& op, const Branch& f, std::span<const Value> args,
                               std::any attrs) {
  Graph& graph = innermost_graph(args);
  const auto body =
      trace_body(graph, shapes_of(args), [&](Graph&, std::span<const Value> xs) { return f(xs); });
  std::vector<Value> operands(args.begin(), args.end());
  operands.insert(operands.end(), body->captures().begin(), body->captures().end());
  return graph.add(op, operands, std::move(attrs), {body});
}

}  // namespace

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

std::vector<Value> custom_gradient(const Branch& f, CustomVjp vjp, std::span<const Value> args) {
  return add_inlined(kCustomGradient, f, args,
                     CustomGradientAttrs{std::move(vjp), static_cast<int>(args.size())});
}

std::vector<Value> custom_call(std::span<const Value> args, CustomCallAttrs attrs) {
  return innermost_graph(args).add(kCustomCall, args, std::move(attrs));
}

std::vector<Value> optimization_barrier(std::span<const Value> values) {
  return innermost_graph(values).add(kOptimizationBarrier, values);
}

std::span<const OpDef* const> control_ops() {
  static constexpr const OpDef* kOps[] = {
      &kScan,           &kWhile,          &kCond,       &kCheckpoint,
      &kCheckpointName, &kCustomGradient, &kCustomCall, &kOptimizationBarrier};
  return kOps;
}

}  // namespace tessera
