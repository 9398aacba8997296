// Prints the table of docs/parallelism.md: meshes of eight devices, how far ten losses are from
// those of one device, and what the devices exchange.

#include <cstdio>
#include <map>

#include "tessera/base/strings.h"
#include "tessera/train/compile_report.h"
#include "tests/parallel/meshes.h"

namespace tessera::parallel_testing {
namespace {

Result<std::string> exchanged(const MeshCase& mesh) {
  ASSIGN_OR_RETURN(const pjrt::HloModule module, compiled_step(mesh.config, mesh.degrees));
  ASSIGN_OR_RETURN(const Layout layout, layout_of(mesh.degrees, mesh.config.mesh));
  ASSIGN_OR_RETURN(const Slices slices, even_slices(layout.mesh.device_ids(), 1));
  std::map<std::string, double> kib;
  for (const CollectiveReport& use : collectives(module, layout.mesh, slices))
    kib[use.kind] += use.bytes / 1024;
  std::string text;
  for (const auto& [kind, amount] : kib)
    str_append(&text, text.empty() ? "" : ", ", kind, " ", static_cast<int64_t>(amount + 0.5));
  return text;
}

Status print_table() {
  std::printf(
      "| mesh | largest relative difference | exchanged a step and device, KiB |\n|---|---|---|\n");
  for (const MeshCase& mesh : mesh_cases()) {
    ASSIGN_OR_RETURN(const double error, error_against_one_device(mesh));
    ASSIGN_OR_RETURN(const std::string traffic, exchanged(mesh));
    std::printf("| %s | %.1e | %s |\n", mesh.name.c_str(), error, traffic.c_str());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera::parallel_testing

int main() {
  const tessera::Status status = tessera::parallel_testing::print_table();
  if (status.ok()) return 0;
  std::fprintf(stderr, "parallelism_table: %s\n", std::string(status.message()).c_str());
  return 1;
}
