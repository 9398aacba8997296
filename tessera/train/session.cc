#include "tessera/train/session.h"

#include "tessera/base/log.h"
#include "tessera/base/usage_error.h"
#include "tessera/models/llama/model.h"
#include "tessera/models/lora/model.h"
#include "tessera/models/mixtral/model.h"
#include "tessera/pjrt/plugin_search.h"
#include "tessera/train/compile.h"
#include "tessera/train/elastic_mesh.h"
#include "tessera/train/optimizer.h"
#include "tessera/train/parallel_config.h"

namespace tessera {

namespace {

Status check_params(const LanguageModel& model, const RunConfig& config, const Layout& layout) {
  const std::vector<ArgumentSpec> state = state_spec(model, config);
  ASSIGN_OR_RETURN(std::vector<UnusedAxis> unused, unused_axes(state, layout));
  std::erase_if(unused, [](const UnusedAxis& axis) {
    return !axis.path.starts_with("params.");  // moments lie as their parameters do
  });
  if (config.mesh.strict_sharding) RETURN_IF_ERROR(check_strict_sharding(unused));
  RETURN_IF_ERROR(check_sharding_tolerance(state, layout, config.mesh.sharding_tolerance));
  for (const UnusedAxis& axis : unused) log_warning(to_string(axis));
  return absl::OkStatus();
}

/// Lays the mesh over the slices and resolves the config's.
Result<Layout> checked_layout(RunConfig& config, const LanguageModel& model, const Slices& slices) {
  const RunConfig given = config;
  ASSIGN_OR_RETURN(config.mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(Layout layout, make_layout(config.mesh, slices));
  RETURN_IF_ERROR(config.validate_mesh(layout.mesh));
  for (const std::string& text : settings_without_effect(given, layout.mesh, std::ssize(slices)))
    log_warning(text);
  RETURN_IF_ERROR(check_params(model, config, layout));
  return layout;
}

/// The slices of fewer devices than the recipe's num_slices may count on.
Result<Slices> slices_of_fewer(const pjrt::Client& client, RunConfig& config) {
  auto slices = device_slices(client, config.mesh);
  if (slices.ok() || !config.mesh.num_slices) return slices;
  MeshConfig one = config.mesh;
  one.num_slices = 1;
  return device_slices(client, one);
}

/// The first of the recipe's fits for these devices that the model has nothing against.
Result<Layout> fitted_layout(RunConfig& config, const LanguageModel& model, const Slices& slices,
                             int64_t all_devices) {
  ASSIGN_OR_RETURN(const std::vector<RunConfig> fits, fits_for_fewer(config, slices, all_devices));
  Status last;
  for (RunConfig fit : fits) {
    auto layout = checked_layout(fit, model, slices);
    if (layout.ok()) {
      config = std::move(fit);
      return layout;
    }
    last = layout.status();
  }
  int64_t devices = 0;
  for (const auto& slice : slices) devices += std::ssize(slice);
  return does_not_fit(
      str_cat("the recipe's mesh cannot be fitted to ", devices, " devices of ", all_devices,
              last.ok() ? ": other axes than data and fsdp do not divide them, or they do not "
                          "divide training.batch_size"
                        : str_cat(": ", from_absl(last.message()))));
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> make_model(const ModelConfig& config) {
  if (config.family == "llama") return std::make_unique<Llama>(config.llama);
  if (config.family == "mixtral")
    return std::make_unique<Mixtral>(MixtralConfig{config.llama, config.mixture});
  return invalid_argument("model.family '", config.family,
                          "' is unknown; there are llama and mixtral");
}

Result<std::unique_ptr<LanguageModel>> make_model(const RunConfig& config) {
  ASSIGN_OR_RETURN(std::unique_ptr<LanguageModel> model, make_model(config.model));
  if (config.lora.rank > 0) {
    const LoraOptions lora{
        .rank = config.lora.rank, .alpha = config.lora.alpha, .targets = config.lora.targets};
    ASSIGN_OR_RETURN(model, LoraModel::create(std::move(model), lora));
  }
  RETURN_IF_ERROR(check_trainable(config.resolved_optimizer(), model->params()));
  return model;
}

Result<Session> Session::open(RunConfig config, const pjrt::ProcessGroup& group,
                              int all_processes) {
  const bool fewer = all_processes > group.processes;
  if (!fewer) all_processes = group.processes;
  auto made = make_model(config);
  if (!made.ok()) return usage_error(made.status());
  const auto plugin = pjrt::find_plugin(config.plugin.name, pjrt::PluginSearch::from_environment());
  if (!plugin.ok()) {
    const Status named = annotate(plugin.status(), "plugin.name");
    return absl::IsInvalidArgument(named) ? usage_error(named) : named;  // else a file is missing
  }
  std::unique_ptr<LanguageModel> model = *std::move(made);
  const int64_t all = config.plugin.devices.value_or(0);
  if (all % all_processes != 0) {
    return usage_error(invalid_argument(
        "plugin.devices is ", all, ", which ", all_processes,
        " processes cannot make in equal parts: use a multiple, such as plugin.devices=",
        (all / all_processes + 1) * all_processes, ", or another number of processes"));
  }
  const int wanted = static_cast<int>(all / all_processes);
  ASSIGN_OR_RETURN(auto runtime, Runtime::create({.plugin = config.plugin.name,
                                                  .cpu_devices = wanted,
                                                  .group = group,
                                                  .check_launch_order = config.guards.launch_order,
                                                  .client_options = {}}));
  Slices slices;
  Result<Layout> layout = internal_error("no layout");
  if (fewer) {
    ASSIGN_OR_RETURN(slices, slices_of_fewer(runtime->client(), config));
    const int64_t here = std::ssize(runtime->client().devices());
    layout = fitted_layout(config, *model, slices, here / group.processes * all_processes);
    if (is_does_not_fit(layout.status())) return layout.status();
  } else {
    ASSIGN_OR_RETURN(slices, device_slices(runtime->client(), config.mesh));
    layout = checked_layout(config, *model, slices);
  }
  if (!layout.ok()) return usage_error(layout.status());
  ASSIGN_OR_RETURN(layout->kernels,
                   choose_kernels(config.kernels, runtime->client(), group.processes));
  if (!layout->kernels.kernels.empty()) log_info(to_string(layout->kernels));
  return Session{std::move(config), std::move(model), std::move(runtime), std::move(slices),
                 *std::move(layout)};
}

}  // namespace tessera
