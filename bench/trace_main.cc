// How long it takes to trace, differentiate and print a deep model, unrolled: nothing is compiled
// or run.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/models/llama/model.h"
#include "tessera/runtime/jit.h"
#include "tessera/train/compile.h"
#include "tessera/train/step.h"

namespace tessera {
namespace {

struct Times {
  double trace_s, print_s;
  size_t bytes;
  int nodes;
};

Result<Times> measure(const RunConfig& config, const Clock& clock) {
  const Llama model(config.model.llama);
  const absl::Duration start = clock.elapsed();
  ASSIGN_OR_RETURN(const TracedProgram program, trace_train_step(model, config));
  const absl::Duration traced = clock.elapsed();
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(8));
  ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
  ASSIGN_OR_RETURN(const Program lowered, lower_program(program, "train_step", layout));
  const absl::Duration printed = clock.elapsed();
  return Times{absl::ToDoubleSeconds(traced - start), absl::ToDoubleSeconds(printed - traced),
               lowered.text.size(), program.graph->size()};
}

Status run() {
  const RealClock clock;
  RunConfig config;
  config.model.llama = {.vocab_size = 32000,
                        .layers = 48,
                        .embed = 4096,
                        .mlp = 14336,
                        .heads = 32,
                        .kv_heads = 8,
                        .head_dim = {}};
  config.training.scan_layers = false;
  config.training.sequence_length = 2048;
  std::vector<Times> all;
  for (int i = 0; i < 5; ++i) {
    ASSIGN_OR_RETURN(const Times times, measure(config, clock));
    all.push_back(times);
  }
  std::ranges::sort(all, {}, [](const Times& t) { return t.trace_s + t.print_s; });
  const Times& median = all[all.size() / 2];
  std::printf(
      "{\"bench\": \"trace\", \"layers\": %lld, \"nodes\": %d, \"trace_s\": %.3f, \"print_s\": "
      "%.3f, \"total_s\": %.3f, "
      "\"text_mb\": %.2f, \"peak_rss_mb\": %.0f}\n",
      static_cast<long long>(config.model.llama.layers), median.nodes, median.trace_s,
      median.print_s, median.trace_s + median.print_s, static_cast<double>(median.bytes) / 1e6,
      bench::peak_rss_mb());
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main() {
  const tessera::Status status = tessera::run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_trace: %s\n", std::string(status.message()).c_str());
  return 1;
}
