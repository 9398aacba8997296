// One AdamW training step of a Llama-style model: the work of the peers in bench/peers, with the
// same JSON keys. 28.84 M parameters = 6 layers x (d 512, 8 heads, ff 1536) + untied 8192-word
// embedding and head, batch 8 x 256 tokens.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/models/llama/model.h"
#include "tessera/train/compile.h"

namespace tessera {
namespace {

struct Options {
  std::string dtype = "bf16";
  std::string plugin = "cpu";
  std::string kernels = "off";
  int steps = 8;
  int devices = 1;
  bool scan = false;
  bool peers = false;
};

Result<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--scan" || flag == "--peers") {
      (flag == "--scan" ? options.scan : options.peers) = true;
      continue;
    }
    if (i + 1 >= argc)
      return invalid_argument(
          "usage: bench_step [--dtype f32|bf16] [--steps N] [--devices N] [--plugin P] "
          "[--kernels auto|off|NAMES] [--scan] [--peers]; "
          "got ",
          flag);
    const std::string value = argv[++i];
    if (flag == "--dtype" && (value == "f32" || value == "bf16"))
      options.dtype = value;
    else if (flag == "--steps")
      options.steps = std::max(1, std::atoi(value.c_str()));
    else if (flag == "--devices")
      options.devices = std::max(1, std::atoi(value.c_str()));
    else if (flag == "--kernels")
      options.kernels = value;
    else if (flag == "--plugin")
      options.plugin = value;
    else
      return invalid_argument("unknown option ", flag, " ", value);
  }
  return options;
}

RunConfig bench_config(const Options& options) {
  RunConfig config;
  config.model.llama = {.vocab_size = 8192,
                        .layers = 6,
                        .embed = 512,
                        .mlp = 1536,
                        .heads = 8,
                        .kv_heads = 8,
                        .head_dim = {},
                        .rope_theta = 10000,
                        .norm_epsilon = 1e-6};
  config.training.batch_size = 8;
  config.training.sequence_length = 256;
  config.training.dtype = options.dtype == "bf16" ? ComputeType::kBf16 : ComputeType::kF32;
  config.training.scan_layers = options.scan;
  config.training.attend_across_documents = true;
  config.optimizer.clip_norm = 0;
  config.optimizer.no_decay = "";
  config.mesh.ici_degree("data") = -1;
  config.mesh.ici_degree("fsdp") = 1;
  return config;
}

Result<Array> random_tokens(Runtime& runtime, const ProgramValue& value, int64_t vocabulary,
                            uint64_t seed) {
  std::mt19937_64 random(seed);
  HostArray host(value.shape);
  for (int32_t& token : host.as<int32_t>()) token = static_cast<int32_t>(random() % vocabulary);
  return Array::from_host(runtime, host, value.sharding);
}

Result<Array> filled(Runtime& runtime, const ProgramValue& value, float number) {
  HostArray host(value.shape);
  std::ranges::fill(host.as<float>(), number);
  return Array::from_host(runtime, host, value.sharding);
}

Status run(const Options& options) {
  const RealClock clock;
  const auto seconds = [&] { return absl::ToDoubleSeconds(clock.elapsed()); };
  const double start = seconds();
  const RunConfig config = bench_config(options);
  const Llama model(config.model.llama);
  ASSIGN_OR_RETURN(const auto runtime, Runtime::create({.plugin = options.plugin,
                                                        .cpu_devices = options.devices,
                                                        .client_options = {}}));
  const double client_s = seconds() - start;
  ASSIGN_OR_RETURN(const Slices slices, device_slices(runtime->client(), config.mesh));
  ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(Layout layout, make_layout(mesh, slices));
  ASSIGN_OR_RETURN(layout.kernels, choose_kernels(options.kernels, runtime->client()));
  ASSIGN_OR_RETURN(const TracedProgram init, trace_init(model, config));
  const double trace_start = seconds();
  ASSIGN_OR_RETURN(const TracedProgram traced, trace_train_step(model, config, &layout));
  const double trace_s = seconds() - trace_start;
  ASSIGN_OR_RETURN(const CompiledFunction make_state,
                   compile_program(*runtime, init, "init", layout));
  const double compile_start = seconds();
  ASSIGN_OR_RETURN(const CompiledFunction step,
                   compile_program(*runtime, traced, "train_step", layout));
  const double compile_s = seconds() - compile_start;

  ASSIGN_OR_RETURN(std::vector<Array> state, make_state({}));
  const size_t state_size = state.size();
  for (size_t i = state_size; i < step.arguments().size(); ++i) {
    const ProgramValue& value = step.arguments()[i];
    const bool is_tokens = value.shape.dtype == DType::kS32;
    ASSIGN_OR_RETURN(Array array,
                     is_tokens ? random_tokens(*runtime, value, model.vocab_size(), i)
                               : filled(*runtime, value, value.shape.rank() == 0 ? 1e-3f : 1.0f));
    state.push_back(std::move(array));
  }
  const std::vector<Array> inputs(state.begin() + state_size, state.end());
  std::vector<double> times;
  float loss = 0;
  double start_to_dispatch_s = 0;  // without compiling
  double cpu_start_s = 0;
  for (int i = 0; i < options.steps + 2; ++i) {
    const double before = seconds();
    if (i == 2) cpu_start_s = bench::process_cpu_s();
    ASSIGN_OR_RETURN(std::vector<Array> results, step(state));
    if (i == 0)
      start_to_dispatch_s = bench::process_age_s() - compile_s - make_state.compile_seconds();
    ASSIGN_OR_RETURN(const HostArray host_loss, results[state_size].to_host());
    loss = host_loss.as<float>()[0];
    times.push_back(seconds() - before);
    results.resize(state_size);
    results.insert(results.end(), inputs.begin(), inputs.end());
    state = std::move(results);
  }
  const double cpu_step_s = (bench::process_cpu_s() - cpu_start_s) / options.steps;
  std::vector<double> timed(times.begin() + 2, times.end());
  std::ranges::sort(timed);
  const double median = timed[timed.size() / 2];
  const double tokens = static_cast<double>(config.training.tokens_per_step());
  const double flop = model.step_flop(config.training.batch_size, config.training.sequence_length);
  std::printf(
      "{\"bench\": \"step\", \"peer\": \"tessera\", \"dtype\": \"%s\", \"kernels\": \"%s\", "
      "\"devices\": %d, "
      "\"scan\": "
      "%s, \"params\": %lld, "
      "\"step_s\": %.4f, \"tokens_per_s\": %.1f, \"tflops\": %.4f, \"first_step_s\": %.2f, "
      "\"loss\": %.6f, "
      "\"min_step_s\": %.4f, \"cpu_step_s\": %.4f, \"client_s\": %.3f, \"trace_s\": %.3f, "
      "\"compile_s\": %.2f, "
      "\"start_to_dispatch_s\": %.2f, "
      "\"peak_rss_mb\": %.0f}\n",
      options.dtype.c_str(), options.kernels.c_str(), options.devices,
      options.scan ? "true" : "false", static_cast<long long>(count_params(model.params())), median,
      tokens / median, flop / median / 1e12, times[0], loss, timed[0], cpu_step_s, client_s,
      trace_s, compile_s, start_to_dispatch_s, bench::peak_rss_mb());
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const auto options = tessera::parse(argc, argv);
  tessera::Status status = options.ok() ? tessera::run(*options) : options.status();
  std::fflush(stdout);
  if (status.ok() && options->peers) {
    status = tessera::bench::run_peer(
        "jax_step.py", tessera::str_cat("--dtype ", options->dtype, " --steps ", options->steps));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_step: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
