#include "tessera/train/session.h"

#include "tessera/models/llama/model.h"
#include "tessera/train/compile.h"

namespace tessera {

Result<std::unique_ptr<LanguageModel>> make_model(const ModelConfig& config) {
  if (config.family == "llama") return std::make_unique<Llama>(config.llama);
  return invalid_argument("model.family '", config.family, "' is unknown; there is llama");
}

Result<Session> Session::open(RunConfig config) {
  ASSIGN_OR_RETURN(auto model, make_model(config.model));
  const int wanted = static_cast<int>(config.plugin.devices.value_or(0));
  ASSIGN_OR_RETURN(
      auto runtime,
      Runtime::create({.plugin = config.plugin.name, .cpu_devices = wanted, .client_options = {}}));
  const auto devices = static_cast<int64_t>(runtime->client().devices().size());
  RETURN_IF_ERROR(config.validate_mesh(devices));
  ASSIGN_OR_RETURN(config.mesh, config.mesh.resolved(devices));
  ASSIGN_OR_RETURN(Mesh mesh, make_mesh(*runtime, config.mesh));
  AxisRules rules = config.resolved_axis_rules();
  return Session{std::move(config), std::move(model), std::move(runtime), std::move(mesh),
                 std::move(rules)};
}

}  // namespace tessera
