// The train step of a 70-billion-parameter model, compiled for 256 virtual devices and not run: how
// long until one knows its memory and collectives, and how much memory that takes.

#include <cstdio>
#include <cstring>
#include <string>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/train/compile.h"
#include "tessera/train/compile_report.h"
#include "tessera/train/session.h"

namespace tessera {
namespace {

constexpr int kDevices = 256;

// Llama 3 70B (Grattafiori et al., The Llama 3 Herd of Models, 2024), fsdp 64 x tensor 4.
RunConfig bench_config() {
  RunConfig config;
  config.model.llama = {.vocab_size = 128256,
                        .layers = 80,
                        .embed = 8192,
                        .mlp = 28672,
                        .heads = 64,
                        .kv_heads = 8,
                        .rope_theta = 500000};
  config.training.batch_size = 256;
  config.training.sequence_length = 8192;
  config.training.remat = "full";
  config.training.attend_across_documents = true;
  config.mesh.ici_degree("tensor") = 4;
  return config;
}

Status run() {
  const RealClock clock;
  const auto seconds = [&] { return absl::ToDoubleSeconds(clock.elapsed()); };
  const RunConfig config = bench_config();
  ASSIGN_OR_RETURN(const auto model, make_model(config.model));
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(kDevices));
  ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
  const double start = seconds();
  ASSIGN_OR_RETURN(const CompileReport report, compile_step_report(*model, config, layout, slices));
  const double total_s = seconds() - start;
  std::printf(
      "{\"bench\": \"mesh_compile\", \"program\": \"tessera\", \"devices\": %d, \"compile_s\": "
      "%.2f, \"total_s\": %.2f, \"peak_rss_mb\": %.0f, \"argument_gb\": %.2f, \"temp_gb\": %.2f}\n",
      kDevices, report.compile_seconds, total_s, bench::peak_rss_mb(), report.argument_bytes / 1e9,
      report.temp_bytes / 1e9);
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const bool peers = argc == 2 && std::strcmp(argv[1], "--peers") == 0;
  if (argc > 1 && !peers) {
    std::fprintf(stderr, "usage: bench_mesh_compile [--peers]\n");
    return 2;
  }
  tessera::Status status = tessera::run();
  if (status.ok() && peers) status = tessera::bench::run_peer("jax_mesh_compile.py", "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_mesh_compile: %s\n", std::string(status.message()).c_str());
  return 1;
}
