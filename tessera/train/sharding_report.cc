#include "tessera/train/sharding_report.h"

#include <set>

#include "absl/strings/str_format.h"
#include "tessera/base/format.h"
#include "tessera/models/llama/model.h"
#include "tessera/ops/sharding_ops.h"
#include "tessera/train/layout.h"

namespace tessera {
namespace {

/// "embed 512, mlp 1536".
std::string named_dims(const std::vector<std::string>& names, const Dims& dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::string name = i < names.size() ? names[i] : "";
    str_append(&text, i > 0 ? ", " : "", name, name.empty() ? "" : " ", dims[i]);
  }
  return text;
}

/// Adds a row, and gives the bytes that a device holds.
Result<double> add_row(const std::string& name, const std::vector<std::string>& names,
                       const Shape& shape, const Layout& layout, TextTable& table) {
  ASSIGN_OR_RETURN(const ProgramValue value, lay_out(ArgumentSpec{name, shape, names}, layout));
  const Shape part = value.sharding.shard_shape(shape);
  const double bytes = static_cast<double>(part.host_bytes());
  table.add({name, named_dims(names, shape.dims), to_string(value.sharding.spec(), shape.rank()),
             to_string(part), bytes_text(bytes)});
  return bytes;
}

TextTable new_table() { return TextTable({false, false, false, false, true}); }

struct Activation {
  std::string scope;
  std::vector<std::string> names;
  Shape shape;
};

/// The values that the model pins to a layout, each once, wherever they stand: in loops' bodies
/// too.
void collect(const Graph& graph, std::set<std::string>& seen, std::vector<Activation>& found) {
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.op == &kConstrain && !node.attr<ConstrainAttrs>().logical_names.empty()) {
      Activation activation = {graph.scope_name(node.scope),
                               node.attr<ConstrainAttrs>().logical_names, node.shapes[0]};
      const std::string key =
          str_cat(activation.scope, " ", named_dims(activation.names, activation.shape.dims));
      if (seen.insert(key).second) found.push_back(std::move(activation));
    }
    for (const auto& region : node.regions) collect(*region, seen, found);
  }
}

Result<std::string> state_report(const LanguageModel& model, const Layout& layout) {
  TextTable table = new_table();
  double params = 0, moments = 0;
  for (const ArgumentSpec& spec : state_spec(model)) {
    const bool is_param = spec.path.starts_with("params.");
    TextTable unseen = new_table();  // moments lie as their parameters do: one row for both
    ASSIGN_OR_RETURN(const double bytes,
                     add_row(spec.path, spec.names, spec.shape, layout, is_param ? table : unseen));
    (is_param ? params : moments) += bytes;
  }
  return absl::StrFormat("\nparameters\n%sa device: weights %s, gradients as much, moments %s\n",
                         table.text(2), bytes_text(params), bytes_text(moments));
}

Result<std::string> activation_report(const LanguageModel& model, const RunConfig& config,
                                      const Layout& layout) {
  TextTable table = new_table();
  for (const ArgumentSpec& spec : batch_spec(config.training)) {
    RETURN_IF_ERROR(add_row(spec.path, spec.names, spec.shape, layout, table).status());
  }
  ASSIGN_OR_RETURN(const TracedProgram step, trace_train_step(model, config));
  std::set<std::string> seen;
  std::vector<Activation> found;
  collect(*step.graph, seen, found);
  for (const Activation& activation : found) {
    const std::string name = activation.scope.empty() ? "activation" : activation.scope;
    RETURN_IF_ERROR(add_row(name, activation.names, activation.shape, layout, table).status());
  }
  return str_cat("\nbatch and activations\n", table.text(2));
}

}  // namespace

Result<std::string> sharding_report(const RunConfig& config, int64_t devices) {
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(devices));
  ASSIGN_OR_RETURN(const MeshConfig resolved, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(resolved, slices));
  RETURN_IF_ERROR(config.validate_mesh(layout.mesh));
  const Llama model(config.model.llama);
  ASSIGN_OR_RETURN(const std::string state, state_report(model, layout));
  ASSIGN_OR_RETURN(const std::string activations, activation_report(model, config, layout));
  const double count = static_cast<double>(count_params(model.params()));
  return str_cat("mesh ", to_string(layout.mesh), ": ", devices, " devices, ", count_text(count),
                 " parameters\n", state, activations);
}

}  // namespace tessera
