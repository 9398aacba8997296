#include "tessera/cli/mesh.h"

#include <cstdint>

#include "tessera/cli/recipe.h"
#include "tessera/train/sharding_report.h"

namespace tessera::cli {
namespace {

class MeshCommand : public Command {
 public:
  CommandText text() const override {
    return {.name = "mesh",
            .operands = "[RECIPE] [KEY=VALUE ...]",
            .summary =
                "Shows what every parameter and activation becomes on a mesh, with bytes a device.",
            .details = "Needs neither the devices nor a plugin.",
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("devices", devices_.devices)
        .range(0, 1'048'576)
        .help("How many devices; 0: plugin.devices of the recipe, else 1.");
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(
        const RunConfig config,
        read_recipe(invocation.operands, /*needs_recipe=*/false, devices_.overrides()));
    ASSIGN_OR_RETURN(const std::string report,
                     sharding_report(config, config.plugin.devices.value_or(1)));
    invocation.out << report;
    return 0;
  }

 private:
  DeviceOptions devices_;
};

}  // namespace

std::unique_ptr<Command> mesh() { return std::make_unique<MeshCommand>(); }

}  // namespace tessera::cli
