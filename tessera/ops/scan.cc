#include <map>

#include "tessera/ops/autodiff.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/joint_internal.h"
#include "tessera/ops/reverse_body_internal.h"

namespace tessera {
namespace {

Shape slice_shape(const Shape& stacked) {
  return {stacked.dtype, Dims(stacked.dims.begin() + 1, stacked.dims.end())};
}

Shape stacked_shape(const Shape& slice, int64_t length) {
  Shape stacked = slice;
  stacked.dims.insert(stacked.dims.begin(), length);
  return stacked;
}

std::vector<Shape> parameter_shapes(std::span<const Shape> operands, const ScanAttrs& attrs) {
  std::vector<Shape> shapes(operands.begin(), operands.end());
  for (int i = attrs.carries; i < attrs.carries + attrs.xs; ++i) {
    if (shapes[i].rank() == 0 || shapes[i].dims[0] != attrs.length) {
      fail("xs ", i - attrs.carries, " is ", to_string(shapes[i]),
           " but its first dimension must be the length ", attrs.length);
    }
    shapes[i] = slice_shape(shapes[i]);
  }
  return shapes;
}

std::vector<Shape> infer_scan(const InferContext& context) {
  const auto& attrs = context.attr<ScanAttrs>();
  const Graph& body = *context.regions[0];
  require_parameters(body, parameter_shapes(context.operands, attrs));
  std::vector<Shape> results = output_shapes(body);
  for (int i = 0; i < attrs.carries; ++i) {
    if (results[i] != context.operands[i]) {
      fail("carry ", i, " goes in as ", to_string(context.operands[i]), " and comes out as ",
           to_string(results[i]), ": a loop's carry keeps its shape and dtype");
    }
  }
  for (size_t i = attrs.carries; i < results.size(); ++i)
    results[i] = stacked_shape(results[i], attrs.length);
  return results;
}

// ---- the reverse pass

// Parameters of the body with a gradient: floating carries always, since a step may mix any into
// any; others on demand.
std::vector<int> wanted_parameters(const Vjp& v, const ScanAttrs& attrs) {
  std::vector<int> wanted;
  for (int i = 0; i < v.operands(); ++i) {
    const bool carry = i < attrs.carries;
    if (carry ? is_floating(v.operand(i).dtype()) : v.needs(i)) wanted.push_back(i);
  }
  return wanted;
}

void scan_vjp(Vjp& v) {
  const ScanAttrs attrs = v.attr<ScanAttrs>();
  const std::vector<Value> cotangents = floating_cotangents(v);
  const Joint joint = differentiate_body(v, wanted_parameters(v, attrs));
  const ReverseBody reverse(joint, attrs.carries, attrs.xs);

  // The forward loop keeps the residuals from now on.
  const int first_residual = static_cast<int>(v.node().shapes.size());
  std::vector<Shape> more;
  for (ValueId id : reverse.residuals())
    more.push_back(stacked_shape(joint.graph->shape(id), attrs.length));
  v.graph().extend_node(v.node_index(), attrs,
                        {forward_body(v.graph(), joint, reverse.residuals())}, more);

  // What goes round: the carries' cotangents and sums of the invariants' ones. What comes in
  // slices: the ys' cotangents, the residuals, and the xs that the gradient uses.
  const auto is_invariant = [&](int parameter) { return parameter >= attrs.carries + attrs.xs; };
  const auto is_x = [&](int parameter) {
    return !is_invariant(parameter) && parameter >= attrs.carries;
  };
  std::vector<Value> init, slices;
  int carry_count = 0;
  for (int i : joint.wanted) carry_count += i < attrs.carries;
  for (int i = 0; i < carry_count; ++i) init.push_back(cotangents[i]);
  for (int i : joint.wanted) {
    if (is_invariant(i)) init.push_back(zeros_like(v.operand(i)));
  }
  const size_t y_cotangents = joint.cotangents.size() - carry_count;
  slices.insert(slices.end(), cotangents.begin() + carry_count,
                cotangents.begin() + carry_count + y_cotangents);
  // Carries that the gradient uses are residuals too: of the step's beginning. They are outputs of
  // the step before, so the forward body returns its own parameter.
  for (size_t i = 0; i < reverse.residuals().size(); ++i) {
    slices.push_back(v.output(first_residual + static_cast<int>(i)));
  }
  for (int i : reverse.body_parameters()) {
    if (is_x(i)) slices.push_back(v.operand(i));
  }

  const ScanBody body = [&](std::span<const Value> carry, std::span<const Value> xs) {
    std::map<ValueId, Value> known;
    size_t x = 0;
    for (int i = 0; i < carry_count; ++i) known[joint.cotangents[i].id()] = carry[i];
    for (size_t i = 0; i < y_cotangents; ++i)
      known[joint.cotangents[carry_count + i].id()] = xs[x++];
    for (ValueId id : reverse.residuals()) known[id] = xs[x++];
    for (int i : reverse.body_parameters()) {
      if (is_x(i)) known[joint.parameters[i].id()] = xs[x++];
      if (is_invariant(i)) known[joint.parameters[i].id()] = v.operand(i);
    }
    for (size_t i = 0; i < joint.captures().size(); ++i)
      known[joint.capture_parameters()[i]] = joint.captures()[i];
    const std::vector<Value> grads =
        reverse.build(innermost_graph(carry.empty() ? xs : carry), std::move(known));
    ScanStep step;
    size_t sum = carry_count;
    for (size_t k = 0; k < joint.wanted.size(); ++k) {
      const int i = joint.wanted[k];
      if (i < attrs.carries) step.carry.push_back(grads[k]);
      if (is_invariant(i)) step.carry.push_back(carry[sum++] + grads[k]);
      if (is_x(i)) step.ys.push_back(grads[k]);
    }
    return step;
  };
  const ScanStep result =
      scan(body, init, slices, {.length = attrs.length, .reverse = !attrs.reverse});
  size_t carry = 0, y = 0;
  for (int i : joint.wanted) v.set_grad(i, is_x(i) ? result.ys[y++] : result.carry[carry++]);
}

}  // namespace

ScanStep scan(const ScanBody& body, std::span<const Value> init, std::span<const Value> xs,
              const ScanOptions& options) {
  std::vector<Value> operands(init.begin(), init.end());
  operands.insert(operands.end(), xs.begin(), xs.end());
  if (operands.empty()) fail("[scan] needs a carry or xs");
  ScanAttrs attrs{static_cast<int>(init.size()), static_cast<int>(xs.size()), options.length,
                  options.reverse};
  if (!xs.empty()) {
    if (xs[0].rank() == 0)
      fail("[scan] xs 0 is a scalar; it needs a leading dimension to run over");
    if (attrs.length < 0) attrs.length = xs[0].dim(0);
  }
  if (attrs.length < 0) fail("[scan] without xs the length must be given");
  Graph& graph = innermost_graph(operands);
  std::vector<Shape> shapes = shapes_of(operands);
  try {
    shapes = parameter_shapes(shapes, attrs);
  } catch (const TraceError& error) {
    throw located(error, kScan, shapes, graph.current_scope());
  }
  const auto traced = trace_body(graph, shapes, [&](Graph&, std::span<const Value> parameters) {
    ScanStep step = body(parameters.first(init.size()), parameters.subspan(init.size()));
    if (step.carry.size() != init.size()) {
      fail("[scan] the body returns ", step.carry.size(), " carries but got ", init.size());
    }
    std::vector<Value> outputs = std::move(step.carry);
    outputs.insert(outputs.end(), step.ys.begin(), step.ys.end());
    return outputs;
  });
  operands.insert(operands.end(), traced->captures().begin(), traced->captures().end());
  const std::vector<Value> results = graph.add(kScan, operands, attrs, {traced});
  return {{results.begin(), results.begin() + attrs.carries},
          {results.begin() + attrs.carries, results.end()}};
}

const OpDef kScan = {.name = "scan", .infer = infer_scan, .vjp = scan_vjp};

}  // namespace tessera
