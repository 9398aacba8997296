#include "tessera/ops/control.h"

#include "absl/strings/str_join.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/registry.h"

namespace tessera {
namespace {

std::string shapes_to_string(std::span<const Shape> shapes) {
  if (shapes.empty()) return "nothing";
  return absl::StrJoin(shapes, ", ",
                       [](std::string* out, const Shape& shape) { out->append(to_string(shape)); });
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
    fail("the condition must give one bool[], got ", shapes_to_string(condition));
  const std::vector<Shape> results = output_shapes(*context.regions[1]);
  const std::vector<Shape> required(context.operands.begin(), context.operands.begin() + state);
  if (results != required) {
    fail("the body gives ", shapes_to_string(results), " but the state is ",
         shapes_to_string(required), ": a loop's state keeps its shapes and dtypes");
  }
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
  if (const std::vector<Shape> others = output_shapes(*context.regions[1]); results != others) {
    fail("the branches give different values: ", shapes_to_string(results), " and ",
         shapes_to_string(others));
  }
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

std::vector<Value> add_inlined(const OpDef& op, const Branch& f, std::span<const Value> args,
                               std::any attrs) {
  if (args.empty()) fail("[", op.name, "] needs at least one argument");
  Graph& graph = innermost_graph(args);
  const auto body =
      trace_body(graph, shapes_of(args), [&](Graph&, std::span<const Value> xs) { return f(xs); });
  std::vector<Value> operands(args.begin(), args.end());
  operands.insert(operands.end(), body->captures().begin(), body->captures().end());
  return graph.add(op, operands, std::move(attrs), {body});
}

std::vector<Shape> infer_inlined(const InferContext& context) {
  require_parameters(*context.regions[0], context.operands);
  return output_shapes(*context.regions[0]);
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
      &kScan,           &kWhile,          &kCond,
      &kCheckpoint,     &kCheckpointName, &kTransferToMemory,
      &kCustomGradient, &kCustomCall,     &kOptimizationBarrier};
  return kOps;
}

}  // namespace tessera
