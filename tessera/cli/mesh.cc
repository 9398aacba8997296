#include "tessera/cli/mesh.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "tessera/cli/recipe.h"
#include "tessera/train/compile.h"
#include "tessera/train/mesh_report.h"
#include "tessera/train/session.h"

namespace tessera::cli {
namespace {

class MeshCommand : public Command {
 public:
  CommandText text() const override {
    return {.name = "mesh",
            .operands = "[RECIPE] [KEY=VALUE ...]",
            .summary =
                "Shows what every parameter and activation becomes on a mesh, with bytes a device.",
            .details =
                "Needs neither the devices nor a plugin: the mesh as a picture, the rules that "
                "act, each tensor's dimensions, axes, shard and bytes, what is whole and what "
                "that costs. With --compile the train step is compiled for so many virtual "
                "devices of the CPU plugin, and not run: its memory, FLOP and collectives.",
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("devices", devices_.devices)
        .range(0, 1'048'576)
        .help("How many devices; 0: plugin.devices of the recipe, else 1.");
    f.field("slices", slices_)
        .range(0, 1'048'576)
        .help("How many slices they form; 0: num_slices of the recipe, else 1.");
    f.field("json", json_).help("Print JSON.");
    f.field("compile", compile_).help("Compile the train step too.");
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    std::vector<std::string> overrides = devices_.overrides();
    if (slices_ > 0) overrides.push_back(str_cat("num_slices=", slices_));
    ASSIGN_OR_RETURN(const RunConfig config,
                     read_recipe(invocation.operands, /*needs_recipe=*/false, overrides));
    auto report = mesh_report(config, config.plugin.devices.value_or(1));
    if (!report.ok()) return usage_error(report.status());
    if (compile_) {
      ASSIGN_OR_RETURN(report->compiled, compile_step(config, *report));
    }
    invocation.out << (json_ ? to_json(*report).dump(1) + "\n" : to_text(*report));
    if (!report->tolerated.ok()) return usage_error(report->tolerated);
    return 0;
  }

 private:
  static Result<CompileReport> compile_step(const RunConfig& config, const MeshReport& report) {
    ASSIGN_OR_RETURN(const auto model, make_model(config));
    ASSIGN_OR_RETURN(const auto runtime,
                     Runtime::create({.plugin = config.plugin.name,
                                      .cpu_devices = static_cast<int>(report.layout.mesh.size()),
                                      .client_options = {}}));
    ASSIGN_OR_RETURN(const TracedProgram step, trace_train_step(*model, config, &report.layout));
    ASSIGN_OR_RETURN(const CompiledFunction compiled,
                     compile_program(*runtime, step, "train_step", report.layout));
    return compile_report(compiled, report.layout.mesh, report.slices);
  }

  DeviceOptions devices_;
  int64_t slices_ = 0;
  bool json_ = false;
  bool compile_ = false;
};

}  // namespace

std::unique_ptr<Command> mesh() { return std::make_unique<MeshCommand>(); }

}  // namespace tessera::cli
