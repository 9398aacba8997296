// One AdamW training step of a decoder: the works of the peers in bench/peers, with the same JSON
// keys. `base` is 28.84 M parameters = 6 layers x (d 512, 8 heads, ff 1536) + untied 8192-word
// embedding and head, batch 8 x 256 tokens; the others are what differs from it.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/base/json.h"
#include "tessera/ops/linear.h"
#include "tessera/runtime/jit.h"
#include "tessera/train/compile.h"
#include "tessera/train/session.h"

namespace tessera {
namespace {

struct Options {
  std::string work = "base";
  std::string dtype = "bf16";
  std::string plugin = "cpu";
  std::string kernels = "off";
  int steps = 8;
  int devices = 1;
  bool scan = false;
  bool peers = false;
};

struct Work {
  const char* name;
  int64_t embed = 512, layers = 6, heads = 8, key_heads = 8, mlp = 1536, vocabulary = 8192;
  int64_t batch = 8, length = 256;
  bool mixture = false;  // 8 experts of which a token takes two, dropless, no loss of balance
};
constexpr Work kWorks[] = {
    {.name = "base"},
    {.name = "long", .batch = 2, .length = 1024},
    {.name = "wide", .embed = 1024, .layers = 2, .heads = 16, .key_heads = 16, .mlp = 3072},
    {.name = "vocab", .vocabulary = 32000},
    {.name = "grouped", .key_heads = 2},
    {.name = "moe", .mlp = 768, .mixture = true},
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
          "usage: bench_step [--work base|long|wide|vocab|grouped|moe] [--dtype f32|bf16] "
          "[--steps N] [--devices N] [--plugin P] [--kernels auto|off|NAMES] [--scan] [--peers]; "
          "got ",
          flag);
    const std::string value = argv[++i];
    if (flag == "--work" && std::ranges::count(kWorks, value, &Work::name) == 1)
      options.work = value;
    else if (flag == "--dtype" && (value == "f32" || value == "bf16"))
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
  const Work& work = *std::ranges::find(kWorks, options.work, &Work::name);
  RunConfig config;
  config.model.family = work.mixture ? "mixtral" : "llama";
  config.model.llama = {.vocab_size = work.vocabulary,
                        .layers = work.layers,
                        .embed = work.embed,
                        .mlp = work.mlp,
                        .heads = work.heads,
                        .kv_heads = work.key_heads,
                        .head_dim = {},
                        .rope_theta = 10000,
                        .norm_epsilon = 1e-6};
  config.model.mixture = {.experts = 8, .experts_per_token = 2, .balance_loss = 0};
  config.training.batch_size = work.batch;
  config.training.sequence_length = work.length;
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

double seconds_now() {
  static const RealClock clock;
  return absl::ToDoubleSeconds(clock.elapsed());
}

/// Devices, and the step compiled for them.
struct Trainer {
  RunConfig config;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<Runtime> runtime;
  Layout layout;
  CompiledFunction make_state, step;
  double client_s, trace_s;
};

Result<Trainer> compile(const Options& options) {
  RunConfig config = bench_config(options);
  ASSIGN_OR_RETURN(auto model, make_model(config.model));
  const double start = seconds_now();
  ASSIGN_OR_RETURN(auto runtime, Runtime::create({.plugin = options.plugin,
                                                  .cpu_devices = options.devices,
                                                  .client_options = {}}));
  const double client_s = seconds_now() - start;
  ASSIGN_OR_RETURN(const Slices slices, device_slices(runtime->client(), config.mesh));
  ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(Layout layout, make_layout(mesh, slices));
  ASSIGN_OR_RETURN(layout.kernels, choose_kernels(options.kernels, runtime->client()));
  ASSIGN_OR_RETURN(const TracedProgram init, trace_init(*model, config));
  const double trace_start = seconds_now();
  ASSIGN_OR_RETURN(const TracedProgram traced, trace_train_step(*model, config, &layout));
  const double trace_s = seconds_now() - trace_start;
  ASSIGN_OR_RETURN(auto make_state, compile_program(*runtime, init, "init", layout));
  ASSIGN_OR_RETURN(auto step, compile_program(*runtime, traced, "train_step", layout));
  return Trainer{std::move(config),     std::move(model), std::move(runtime), std::move(layout),
                 std::move(make_state), std::move(step),  client_s,           trace_s};
}

/// Of steps that ran one after the other; the first two are not counted in what is per step.
struct Steps {
  std::vector<double> seconds;
  float loss = 0;                  // after the last
  double start_to_dispatch_s = 0;  // without compiling
  double cpu_s = 0;
  bench::Switches switches;
  double rss_mb_20 = 0, rss_mb_end = 0;  // after the 20th, 0 if there is none; after the last
  double allocator_peak_mb = 0;
};

Result<Steps> run_steps(const Trainer& t, int timed) {
  ASSIGN_OR_RETURN(std::vector<Array> state, t.make_state({}));
  const size_t state_size = state.size();
  for (size_t i = state_size; i < t.step.arguments().size(); ++i) {
    const ProgramValue& value = t.step.arguments()[i];
    const bool is_tokens = value.shape.dtype == DType::kS32;
    ASSIGN_OR_RETURN(Array array,
                     is_tokens ? random_tokens(*t.runtime, value, t.model->vocab_size(), i)
                               : filled(*t.runtime, value, value.shape.rank() == 0 ? 1e-3f : 1.0f));
    state.push_back(std::move(array));
  }
  const std::vector<Array> inputs(state.begin() + static_cast<ptrdiff_t>(state_size), state.end());
  Steps steps;
  double cpu_before = 0;
  bench::Switches before;
  for (int i = 0; i < timed + 2; ++i) {
    if (i == 2) {
      cpu_before = bench::process_cpu_s();
      before = bench::switches();
    }
    const double start = seconds_now();
    ASSIGN_OR_RETURN(std::vector<Array> results, t.step(state));
    if (i == 0)
      steps.start_to_dispatch_s =
          bench::process_age_s() - t.step.compile_seconds() - t.make_state.compile_seconds();
    ASSIGN_OR_RETURN(const HostArray loss, results[state_size].to_host());
    steps.loss = loss.as<float>()[0];
    steps.seconds.push_back(seconds_now() - start);
    results.resize(state_size);
    results.insert(results.end(), inputs.begin(), inputs.end());
    state = std::move(results);
    if (i == 19) steps.rss_mb_20 = bench::rss_mb();
  }
  steps.cpu_s = bench::process_cpu_s() - cpu_before;
  const bench::Switches after = bench::switches();
  steps.switches = {.voluntary = after.voluntary - before.voluntary,
                    .involuntary = after.involuntary - before.involuntary};
  steps.rss_mb_end = bench::rss_mb();
  const auto stats = t.runtime->client().addressable_devices()[0].memory_stats();
  if (stats.ok())
    steps.allocator_peak_mb = static_cast<double>(stats->peak_bytes_in_use.value_or(0)) / 1e6;
  return steps;
}

/// FLOP a second of a product of two square matrices over all devices, the rows of the first split
/// among them as a batch is.
Result<double> product_rate(Runtime& runtime, const Layout& layout, DType dtype) {
  constexpr int64_t kSize = 2048;
  const Shape matrix{dtype, {kSize, kSize}};
  const NamedShape parameters[] = {{"x", matrix}, {"w", matrix}};
  ASSIGN_OR_RETURN(const auto graph, trace(parameters, [](Graph&, std::span<const Value> args) {
                     return std::vector<Value>{einsum("td,df->tf", {args[0], args[1]})};
                   }));
  const std::vector<std::string> rows = {"activation_batch", ""};
  ASSIGN_OR_RETURN(
      const CompiledFunction product,
      jit(runtime, *graph,
          {.name = "product",
           .mesh = layout.mesh,
           .rules = layout.rules,
           .arguments = {{.path = "x", .dim_names = rows}, {.path = "w", .dim_names = {"", ""}}},
           .results = {{.path = "y", .dim_names = rows}},
           .donate = {},
           .overrides = {},
           .kernels = layout.kernels.op_kernels()}));
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(static_cast<size_t>(matrix.elements()));
  for (double& number : numbers) number = normal(random);
  std::vector<Array> operands;
  for (const ProgramValue& value : product.arguments()) {
    ASSIGN_OR_RETURN(Array array,
                     Array::from_host(runtime, from_doubles(value.shape, numbers), value.sharding));
    operands.push_back(std::move(array));
  }
  double best = 1e9;
  const double end = seconds_now() + 0.5;
  for (int i = 0; i < 5 || seconds_now() < end; ++i) {
    const double start = seconds_now();
    ASSIGN_OR_RETURN(const std::vector<Array> results, product(operands));
    RETURN_IF_ERROR(results[0].await());
    best = std::min(best, seconds_now() - start);
  }
  return 2.0 * kSize * kSize * kSize / best;
}

/// The best product there is here, ours or the compiler's, whatever the step itself used.
Result<double> gemm_peak(const Trainer& t, DType dtype) {
  double best = 0;
  for (const char* kernels : {"off", "auto"}) {
    Layout layout = t.layout;
    ASSIGN_OR_RETURN(layout.kernels, choose_kernels(kernels, t.runtime->client()));
    ASSIGN_OR_RETURN(const double rate, product_rate(*t.runtime, layout, dtype));
    best = std::max(best, rate);
  }
  return best;
}

/// MB that the compiler planned for the step on all devices, its arguments included.
double compiled_peak_mb(const Trainer& t, int devices) {
  const auto stats = t.step.executable().memory_stats();
  if (!stats.ok()) return 0;
  const int64_t bytes =
      stats->argument_bytes + stats->output_bytes - stats->alias_bytes + stats->temp_bytes;
  return static_cast<double>(bytes) * devices / 1e6;
}

double rounded(double number, int digits) {
  const double unit = std::pow(10, digits);
  return std::round(number * unit) / unit;
}

int64_t whole(double number) { return std::llround(number); }

Status run(const Options& options) {
  ASSIGN_OR_RETURN(const Trainer t, compile(options));
  ASSIGN_OR_RETURN(const Steps steps, run_steps(t, options.steps));
  const double peak_rss_mb = bench::peak_rss_mb();  // before the products below
  ASSIGN_OR_RETURN(const double peak_bf16, gemm_peak(t, DType::kBF16));
  ASSIGN_OR_RETURN(const double peak_f32, gemm_peak(t, DType::kF32));

  std::vector<double> timed(steps.seconds.begin() + 2, steps.seconds.end());
  std::ranges::sort(timed);
  const double median = timed[timed.size() / 2];
  const TrainingConfig& training = t.config.training;
  const double flops = t.model->step_flop(training.batch_size, training.sequence_length) / median;
  const double peak = options.dtype == "bf16" ? peak_bf16 : peak_f32;
  const auto per_step = [&](double sum) { return sum / options.steps; };
  Json line = {
      {"bench", "step"},
      {"peer", "tessera"},
      {"work", options.work},
      {"dtype", options.dtype},
      {"kernels", options.kernels},
      {"devices", options.devices},
      {"scan", options.scan},
      {"steps", options.steps},
      {"params", count_params(t.model->params())},
      {"step_s", rounded(median, 4)},
      {"tokens_per_s", rounded(static_cast<double>(training.tokens_per_step()) / median, 1)},
      {"tflops", rounded(flops / 1e12, 4)},
      {"gemm_peak_bf16_tflops", rounded(peak_bf16 / 1e12, 4)},
      {"gemm_peak_f32_tflops", rounded(peak_f32 / 1e12, 4)},
      {"share_of_gemm_peak", rounded(flops / peak, 3)},
      {"first_step_s", rounded(steps.seconds[0], 2)},
      {"loss", steps.loss},
      {"min_step_s", rounded(timed[0], 4)},
      {"cpu_step_s", rounded(per_step(steps.cpu_s), 4)},
      {"vol_switches_per_step",
       rounded(per_step(static_cast<double>(steps.switches.voluntary)), 1)},
      {"invol_switches_per_step",
       rounded(per_step(static_cast<double>(steps.switches.involuntary)), 1)},
      {"client_s", rounded(t.client_s, 3)},
      {"trace_s", rounded(t.trace_s, 3)},
      {"compile_s", rounded(t.step.compile_seconds(), 2)},
      {"start_to_dispatch_s", rounded(steps.start_to_dispatch_s, 2)},
      {"compiled_peak_mb", whole(compiled_peak_mb(t, options.devices))},
      {"allocator_peak_mb", whole(steps.allocator_peak_mb)},
      {"peak_rss_mb", whole(peak_rss_mb)},
      {"rss_mb_20", Json()},
      {"rss_mb_end", whole(steps.rss_mb_end)}};
  if (steps.rss_mb_20 > 0) line["rss_mb_20"] = whole(steps.rss_mb_20);
  std::printf("%s\n", line.dump().c_str());
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
        "jax_step.py", tessera::str_cat("--work ", options->work, " --dtype ", options->dtype,
                                        " --steps ", options->steps));
  }
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_step: %s\n", std::string(status.message()).c_str());
  return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
}
