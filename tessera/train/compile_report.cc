#include "tessera/train/compile_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/base/strings.h"
#include "tessera/train/collective_uses.h"
#include "tessera/train/remat.h"

namespace tessera {
namespace {

std::vector<std::string> differing_axes(const std::vector<std::vector<int64_t>>& groups,
                                        const Mesh& mesh) {
  std::vector<bool> differs(mesh.axes().size(), false);
  for (const auto& group : groups) {
    const std::vector<int64_t> first = mesh.coordinates(group[0]);
    for (int64_t position : group) {
      const std::vector<int64_t> other = mesh.coordinates(position);
      for (size_t i = 0; i < differs.size(); ++i)
        if (other[i] != first[i]) differs[i] = true;
    }
  }
  std::vector<std::string> axes;
  for (size_t i = 0; i < differs.size(); ++i) {
    if (differs[i]) axes.push_back(mesh.axes()[i].name);
  }
  return axes;
}

bool cross_slices(const std::vector<std::vector<int64_t>>& groups, const Mesh& mesh,
                  const std::map<int64_t, size_t>& slice_of) {
  return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
    return std::any_of(group.begin(), group.end(), [&](int64_t position) {
      return slice_of.at(mesh.device_ids()[position]) != slice_of.at(mesh.device_ids()[group[0]]);
    });
  });
}

}  // namespace

std::vector<CollectiveReport> collectives(const pjrt::HloModule& module, const Mesh& mesh,
                                          const Slices& slices) {
  std::map<int64_t, size_t> slice_of;
  for (size_t i = 0; i < slices.size(); ++i) {
    for (int64_t id : slices[i]) slice_of[id] = i;
  }
  std::map<std::tuple<std::string, std::vector<std::string>, bool>, CollectiveReport> reports;
  for (const CollectiveUse& use : collective_uses(module, mesh.size())) {
    const std::vector<std::string> axes = differing_axes(use.groups, mesh);
    if (axes.empty()) continue;  // of each device with itself
    const bool crosses = cross_slices(use.groups, mesh, slice_of);
    CollectiveReport& report = reports[{use.kind, axes, crosses}];
    report.kind = use.kind;
    report.axes = axes;
    report.crosses_slices = crosses;
    report.count += use.times;
    report.bytes += use.times * use.bytes;
  }
  std::vector<CollectiveReport> list;
  for (auto& [key, report] : reports) list.push_back(std::move(report));
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return list;
}

Result<CompileReport> compile_report(const CompiledFunction& function, const Mesh& mesh,
                                     const Slices& slices) {
  ASSIGN_OR_RETURN(const auto memory, function.executable().memory_stats());
  ASSIGN_OR_RETURN(const auto program, function.executable().optimized_program());
  ASSIGN_OR_RETURN(const auto module, pjrt::HloModule::parse(program.format, program.code));
  return CompileReport{.devices = mesh.size(),
                       .compile_seconds = function.compile_seconds(),
                       .argument_bytes = static_cast<double>(memory.argument_bytes),
                       .temp_bytes = static_cast<double>(memory.temp_bytes),
                       .flops = module.dot_flops(),
                       .collectives = collectives(module, mesh, slices)};
}

Result<CompileReport> compile_step_report(const LanguageModel& model, const RunConfig& config,
                                          const Layout& layout, const Slices& slices) {
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::create({.plugin = config.plugin.name,
                                    .cpu_devices = static_cast<int>(layout.mesh.size()),
                                    .compile_only = true,
                                    .client_options = {}}));
  RETURN_IF_ERROR(check_offloading(config.training, runtime->client().platform_name()));
  ASSIGN_OR_RETURN(const TracedProgram step, trace_train_step(model, config, &layout));
  ASSIGN_OR_RETURN(Program program, lower_program(step, "train_step", layout));
  program.overrides = {{"xla_backend_optimization_level", int64_t{0}},
                       {"xla_llvm_disable_expensive_passes", true},
                       {"xla_cpu_parallel_codegen_split_count", int64_t{2}}};
  ASSIGN_OR_RETURN(const CompiledFunction compiled,
                   CompiledFunction::compile(*runtime, std::move(program)));
  return compile_report(compiled, layout.mesh, slices);
}

}  // namespace tessera
