#include "tests/parallel/meshes.h"

#include <map>

#include "tessera/base/strings.h"

namespace tessera::parallel_testing {
namespace {

std::string degrees_text(const Degrees& degrees) {
  std::string text;
  for (const auto& [axis, degree] : degrees)
    str_append(&text, text.empty() ? "" : " x ", axis, " ", degree);
  return text;
}

MeshCase plain(Degrees degrees) {
  return {degrees_text(degrees), std::move(degrees), small_config()};
}

MeshCase ring(Degrees degrees) {
  MeshCase mesh = plain(std::move(degrees));
  mesh.name += ", ring";
  mesh.config.training.context_parallel_strategy = ContextStrategy::kRing;
  return mesh;
}

MeshCase pipeline(Degrees degrees, int64_t microbatches, int64_t repeats) {
  MeshCase mesh = plain(std::move(degrees));
  str_append(&mesh.name, repeats > 1 ? ", circular" : ", GPipe", ", ", microbatches,
             " microbatches");
  mesh.config.model.llama.layers = 8;
  mesh.config.training.pipeline_microbatches = microbatches;
  mesh.config.training.pipeline_repeats = repeats;
  return mesh;
}

MeshCase zero1(Degrees degrees) {
  MeshCase mesh = plain(std::move(degrees));
  mesh.name += ", ZeRO-1";
  mesh.config.mesh.shard_optimizer_over_data = true;
  return mesh;
}

MeshCase hybrid(int64_t slices, Degrees degrees_in_a_slice) {
  MeshCase mesh = plain(degrees_in_a_slice);
  mesh.name = str_cat(slices, " slices of ", mesh.name);
  mesh.config.mesh.num_slices = slices;
  return mesh;
}

}  // namespace

std::vector<MeshCase> mesh_cases() {
  return {
      plain({{"data", 8}}),
      plain({{"fsdp", 8}}),
      plain({{"fsdp_transpose", 8}}),
      plain({{"tensor", 8}}),
      plain({{"tensor_sequence", 8}}),
      plain({{"context", 8}}),
      ring({{"context", 8}}),
      plain({{"expert", 8}}),
      pipeline({{"stage", 8}}, 8, 1),
      zero1({{"data", 8}}),
      plain({{"data", 2}, {"fsdp", 4}}),
      hybrid(2, {{"fsdp", 4}}),
      hybrid(2, {{"fsdp", 2}, {"tensor", 2}}),
      zero1({{"data", 4}, {"fsdp", 2}}),
      plain({{"fsdp", 4}, {"tensor", 2}}),
      plain({{"data", 2}, {"fsdp", 2}, {"tensor", 2}}),
      plain({{"fsdp", 2}, {"fsdp_transpose", 2}, {"tensor", 2}}),
      plain({{"fsdp", 2}, {"tensor_sequence", 4}}),
      ring({{"fsdp", 4}, {"context", 2}}),
      plain({{"fsdp", 2}, {"context", 2}, {"tensor", 2}}),
      pipeline({{"stage", 2}, {"fsdp", 2}, {"tensor", 2}}, 4, 1),
      pipeline({{"stage", 4}, {"data", 2}}, 4, 2),
  };
}

Result<double> error_against_one_device(const MeshCase& mesh) {
  static std::map<int64_t, std::vector<double>> by_layers;
  std::vector<double>& expected = by_layers[mesh.config.model.llama.layers];
  if (expected.empty()) {
    RunConfig config = mesh.config;
    config.mesh = MeshConfig();
    config.kernels = "off";
    ASSIGN_OR_RETURN(expected, losses(config, {}));
  }
  ASSIGN_OR_RETURN(const std::vector<double> got, losses(mesh.config, mesh.degrees));
  return worst_error(got, expected);
}

}  // namespace tessera::parallel_testing
