#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control_internal.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/joint_internal.h"
#include "tessera/ops/reverse_body_internal.h"
#include "tessera/ops/shape.h"
#include "tessera/ops/sharding_internal.h"
#include "tessera/ops/sharding_ops.h"

namespace tessera {
namespace {

Shape scaled(const Mesh& mesh, const Shape& shape, const PartitionSpec& spec, bool to_local) {
  if (static_cast<int>(spec.dims.size()) > shape.rank()) {
    fail("the spec ", to_string(spec), " has more dimensions than ", to_string(shape));
  }
  Shape result = shape;
  for (size_t dim = 0; dim < spec.dims.size(); ++dim) {
    const int64_t parts = devices_along(mesh, spec.dims[dim]);
    if (to_local && shape.dims[dim] % parts != 0) {
      fail("dimension ", dim, " of ", to_string(shape), " does not divide into ", parts, " shards");
    }
    result.dims[dim] = to_local ? shape.dims[dim] / parts : shape.dims[dim] * parts;
  }
  return result;
}

void require_manual(const ManualOptions& options, std::span<const PartitionSpec> specs) {
  if (options.axes.empty()) return;
  for (const std::string& axis : options.axes) checked_axis_size(options.mesh, axis);
  for (const PartitionSpec& spec : specs) {
    for (const auto& dim : spec.dims) {
      for (const std::string& axis : dim) {
        if (std::find(options.axes.begin(), options.axes.end(), axis) == options.axes.end()) {
          fail("the spec ", to_string(spec), " names the axis '", axis,
               "', which is not manual here; manual are ", absl::StrJoin(options.axes, ", "));
        }
      }
    }
  }
}

// Of the arguments of a region on each device.
std::vector<Shape> local_shapes(const ManualOptions& options, std::span<const Shape> global) {
  std::vector<Shape> local;
  for (size_t i = 0; i < global.size(); ++i)
    local.push_back(scaled(options.mesh, global[i], options.in[i], /*to_local=*/true));
  return local;
}

std::vector<Shape> infer_manual(const InferContext& context) {
  const ManualOptions& options = context.attr<ManualAttrs>().options;
  const Graph& body = *context.regions[0];
  require_manual(options, options.out);
  require_parameters(body, local_shapes(options, context.operands));
  std::vector<Shape> results = output_shapes(body);
  if (results.size() != options.out.size()) {
    fail("the body returns ", results.size(), " values but `out` has ", options.out.size());
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = scaled(options.mesh, results[i], options.out[i], /*to_local=*/false);
  }
  return results;
}

// The manual axes along which a value of this spec is replicated.
std::vector<std::string> replicated_axes(const ManualOptions& options, const PartitionSpec& spec) {
  std::set<std::string> used;
  for (const auto& dim : spec.dims) used.insert(dim.begin(), dim.end());
  std::vector<std::string> rest;
  for (const std::string& axis : options.manual_axes()) {
    if (used.count(axis) == 0) rest.push_back(axis);
  }
  return rest;
}

// A residual on its way from the region to its reverse: each device's own, as a part of a stack.
PartitionSpec stack_spec(const ManualOptions& options) { return {{options.manual_axes()}}; }

/// The reverse pass of a region: what goes into it, in this order.
class ReverseRegion {
 public:
  ReverseRegion(Vjp& v, const Joint& joint, const ReverseBody& body)
      : joint_(joint), body_(body), options_(v.attr<ManualAttrs>().options) {
    const ManualOptions options = options_;  // of the region itself
    options_.in.clear();
    options_.out.clear();
    const int results = static_cast<int>(v.node().shapes.size());
    for (int i : body.body_parameters()) add(v.operand(i), options.in[i]);
    for (int i = 0; i < results; ++i) {
      if (!is_floating(v.node().shapes[i].dtype)) continue;
      add(v.has_cotangent(i) ? v.cotangent(i) : zeros_like(v.output(i)), options.out[i]);
      shares_.push_back(1.0 / static_cast<double>(devices_along(
                                  options.mesh, replicated_axes(options, options.out[i]))));
    }
    for (int i : joint.wanted) options_.out.push_back(options.in[i]);
    keep_residuals(v);
  }

  std::vector<Value> run() const {
    return manual_region(options_, args_, [&](std::span<const Value> local) {
      std::map<ValueId, Value> known;
      size_t next = 0;
      for (int i : body_.body_parameters()) known[joint_.parameters[i].id()] = local[next++];
      for (size_t i = 0; i < joint_.cotangents.size(); ++i) {
        const Value whole = local[next++];
        known[joint_.cotangents[i].id()] = shares_[i] == 1 ? whole : whole * shares_[i];
      }
      for (ValueId id : body_.residuals()) {
        const Value kept = local[next++];
        known[id] = reshape(kept, Dims(kept.dims().begin() + 1, kept.dims().end()));
      }
      for (size_t i = 0; i < joint_.captures().size(); ++i)
        known[joint_.capture_parameters()[i]] = joint_.captures()[i];
      std::vector<Value> grads = body_.build(local[0].graph(), std::move(known));
      for (size_t k = 0; k < grads.size(); ++k) {
        const std::vector<std::string> axes = replicated_axes(options_, options_.out[k]);
        if (!axes.empty()) grads[k] = psum(grads[k], options_.mesh, axes);
      }
      return grads;
    });
  }

 private:
  void add(Value value, const PartitionSpec& spec) {
    args_.push_back(value);
    options_.in.push_back(spec);
  }

  // Makes the region give its residuals too, each with a leading dimension of the devices.
  void keep_residuals(Vjp& v) {
    const std::vector<ValueId>& residuals = body_.residuals();
    if (residuals.empty()) return;
    const std::shared_ptr<Graph> forward = forward_body(v.graph(), joint_, residuals);
    std::vector<Value> outputs;
    for (ValueId id : forward->outputs()) outputs.push_back(forward->value(id));
    const PartitionSpec spec = stack_spec(options_);
    ManualAttrs attrs = v.attr<ManualAttrs>();
    std::vector<Shape> shapes;
    for (size_t i = outputs.size() - residuals.size(); i < outputs.size(); ++i) {
      outputs[i] = expand_dims(outputs[i], 0);
      Shape shape = outputs[i].shape();
      shape.dims[0] = devices_along(options_.mesh, spec.dims[0]);
      shapes.push_back(std::move(shape));
      attrs.options.out.push_back(spec);
    }
    forward->set_outputs(std::move(outputs));
    const int first = static_cast<int>(v.node().shapes.size());
    v.graph().extend_node(v.node_index(), std::move(attrs), {forward}, shapes);
    for (size_t i = 0; i < residuals.size(); ++i) add(v.output(first + static_cast<int>(i)), spec);
  }

  const Joint& joint_;
  const ReverseBody& body_;
  ManualOptions options_;
  std::vector<Value> args_;
  std::vector<double> shares_;
};

// Each of n replicas of a result gets the whole cotangent, so each takes 1/n of it; an argument
// that came in replicated sums what its replicas send back. Inside, psum is its own transpose.
// Source: jax.experimental.shard_map's rule without replication checking.
void manual_vjp(Vjp& v) {
  std::vector<int> wanted;
  for (int i = 0; i < v.operands(); ++i) {
    if (v.needs(i)) wanted.push_back(i);
  }
  const Joint joint = differentiate_body(v, wanted);
  const ReverseBody body(joint, /*carries=*/0, /*slices=*/v.operands());
  const std::vector<Value> grads = ReverseRegion(v, joint, body).run();
  for (size_t k = 0; k < wanted.size(); ++k) v.set_grad(wanted[k], grads[k]);
}

}  // namespace

const OpDef kManualRegion = {.name = "manual_region", .infer = infer_manual, .vjp = manual_vjp};

std::vector<std::string> ManualOptions::manual_axes() const {
  std::vector<std::string> names;
  for (const MeshAxis& axis : mesh.axes()) {
    if (axis.size == 1) continue;
    if (axes.empty() || std::find(axes.begin(), axes.end(), axis.name) != axes.end())
      names.push_back(axis.name);
  }
  return names;
}

std::vector<Value> manual_region(const ManualOptions& options, std::span<const Value> args,
                                 const ManualBody& body) {
  if (args.empty() || args.size() != options.in.size()) {
    fail("[manual_region] gets ", args.size(), " arguments but `in` has ", options.in.size());
  }
  Graph& graph = innermost_graph(args);
  std::vector<Shape> local = shapes_of(args);
  try {
    require_manual(options, options.in);
    local = local_shapes(options, local);
  } catch (const TraceError& error) {
    throw located(error, kManualRegion, local, graph.current_scope());
  }
  const auto traced =
      trace_body(graph, local, [&](Graph&, std::span<const Value> xs) { return body(xs); });
  std::vector<Value> operands(args.begin(), args.end());
  ManualAttrs attrs{options};
  for (Value capture : traced->captures()) {
    operands.push_back(capture);
    attrs.options.in.push_back({});
  }
  return graph.add(kManualRegion, operands, std::move(attrs), {traced});
}

}  // namespace tessera
