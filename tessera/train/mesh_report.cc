#include "tessera/train/mesh_report.h"

#include <set>

#include "tessera/ops/sharding_ops.h"
#include "tessera/train/session.h"

namespace tessera {
namespace {

Result<TensorReport> report_tensor(const ArgumentSpec& spec, const Layout& layout) {
  ASSIGN_OR_RETURN(const ProgramValue value, lay_out(spec, layout));
  const Shape shard = value.sharding.shard_shape(spec.shape);
  return TensorReport{.name = spec.path,
                      .dim_names = spec.names,
                      .shape = spec.shape,
                      .spec = value.sharding.spec(),
                      .shard = shard,
                      .bytes = static_cast<double>(shard.host_bytes())};
}

/// The values that the model pins to a layout, each once, wherever they stand: in loops' bodies
/// too.
void collect(const Graph& graph, std::set<std::string>& seen, std::vector<ArgumentSpec>& found) {
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.op == &kConstrain && !node.attr<ConstrainAttrs>().logical_names.empty()) {
      const std::string scope = graph.scope_name(node.scope);
      const ArgumentSpec activation = {scope.empty() ? "activation" : scope, node.shapes[0],
                                       node.attr<ConstrainAttrs>().logical_names};
      std::string key = str_cat(activation.path, " ", to_string(activation.shape));
      for (const std::string& name : activation.names) str_append(&key, " ", name);
      if (seen.insert(key).second) found.push_back(activation);
    }
    for (const auto& region : node.regions) collect(*region, seen, found);
  }
}

Status report_state(const LanguageModel& model, const RunConfig& config, MeshReport& report) {
  const std::vector<ArgumentSpec> state = state_spec(model, config);
  ASSIGN_OR_RETURN(report.unused, unused_axes(state, report.layout));
  std::erase_if(report.unused,
                [](const UnusedAxis& unused) { return !unused.path.starts_with("params."); });
  if (config.mesh.strict_sharding) RETURN_IF_ERROR(check_strict_sharding(report.unused));
  for (const ArgumentSpec& spec : state) {
    ASSIGN_OR_RETURN(TensorReport tensor, report_tensor(spec, report.layout));
    const bool is_param = spec.path.starts_with("params.");
    (is_param ? report.params : report.optimizer).push_back(std::move(tensor));
  }
  ASSIGN_OR_RETURN(report.replicated, replicated_params(state, report.layout));
  report.tolerated = check_sharding_tolerance(state, report.layout, config.mesh.sharding_tolerance);
  return absl::OkStatus();
}

Status report_values(const LanguageModel& model, const RunConfig& config, MeshReport& report) {
  for (const ArgumentSpec& spec : batch_spec(config.training)) {
    ASSIGN_OR_RETURN(TensorReport tensor, report_tensor(spec, report.layout));
    report.batch.push_back(std::move(tensor));
  }
  ASSIGN_OR_RETURN(const TracedProgram step, trace_train_step(model, config, &report.layout));
  std::set<std::string> seen;
  std::vector<ArgumentSpec> found;
  collect(*step.graph, seen, found);
  for (const ArgumentSpec& activation : found) {
    ASSIGN_OR_RETURN(TensorReport tensor, report_tensor(activation, report.layout));
    report.activations.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

std::vector<AxisRule> acting_rules(const Layout& layout) {
  std::vector<AxisRule> acting;
  for (const AxisRule& rule : layout.rules.rules()) {
    AxisRule kept = {rule.name, {}};
    for (const std::string& axis : rule.axes) {
      if (layout.mesh.axis_size(axis) > 1) kept.axes.push_back(axis);
    }
    // A fallback that has become the same as what it stands in for is none.
    if (acting.empty() || !(acting.back() == kept)) acting.push_back(std::move(kept));
  }
  return acting;
}

}  // namespace

double MeshReport::bytes(std::span<const TensorReport> tensors) {
  double sum = 0;
  for (const TensorReport& tensor : tensors) sum += tensor.bytes;
  return sum;
}

double MeshReport::state_bytes() const { return 2 * bytes(params) + bytes(optimizer); }

Result<MeshReport> mesh_report(const RunConfig& config, int64_t devices) {
  ASSIGN_OR_RETURN(Slices slices, config.mesh.slices(devices));
  ASSIGN_OR_RETURN(const MeshConfig resolved, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(Layout layout, make_layout(resolved, slices));
  RETURN_IF_ERROR(config.validate_mesh(layout.mesh));
  ASSIGN_OR_RETURN(const auto model, make_model(config));
  MeshReport report = {
      .axes = resolved.axis_degrees(), .slices = std::move(slices), .layout = std::move(layout)};
  report.parameters = static_cast<double>(count_params(model->params()));
  report.rules = acting_rules(report.layout);
  RETURN_IF_ERROR(report_state(*model, config, report));
  RETURN_IF_ERROR(report_values(*model, config, report));
  return report;
}

}  // namespace tessera
