// Each kernel against its plain twin, alone, on the shapes of bench_step: both compiled by the same
// compiler and run in turns, so that what else the machine does meets both. The best of the rounds
// by the clock, and the least processor time, which says more where the machine is busy.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/nn/attention.h"
#include "tessera/nn/fused_attention.h"
#include "tessera/nn/fused_gate.h"
#include "tessera/nn/fused_norm.h"
#include "tessera/nn/loss.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/shape.h"
#include "tessera/runtime/jit.h"
#include "tessera/train/compile.h"
#include "tessera/train/optimizer.h"

namespace tessera {
namespace {

constexpr int64_t kBatch = 8, kLength = 256, kWidth = 512, kHeads = 8, kMlp = 1536, kWords = 8192;

/// What a case is traced with: its kernel or none.
struct Way {
  Kernels kernels;
  AttentionOptions attention;
};
using Args = std::span<const Value>;
using Body = std::function<std::vector<Value>(Args args, const Way& way)>;

struct Case {
  const char* kernel;
  std::string name;
  std::vector<Shape> inputs;
  Body body;
  double flop;   ///< 0: it is the memory's work
  double bytes;  ///< read and written at least
};

// The results, and the gradients of all floating arguments by cotangents that stand last.
std::vector<Value> with_gradients(std::vector<Value> results, Args args, Args cotangents) {
  std::vector<Value> xs;
  for (Value arg : args) {
    if (is_floating(arg.dtype())) xs.push_back(arg);
  }
  for (Value grad : gradients(results, cotangents, xs)) results.push_back(grad);
  return results;
}

double bytes_of(const std::vector<Shape>& shapes) {
  double bytes = 0;
  for (const Shape& shape : shapes)
    bytes += static_cast<double>(shape.elements() * dtype_host_bytes(shape.dtype));
  return bytes;
}

Case product(DType dtype, const char* equation, const char* name, Dims a, Dims b, double flop) {
  Case c{.kernel = "matmul", .name = name, .inputs = {{dtype, a}, {dtype, b}}, .flop = flop};
  c.body = [equation](Args args, const Way&) {
    return std::vector<Value>{einsum(equation, {args[0], args[1]})};
  };
  c.bytes = bytes_of(c.inputs);
  return c;
}

Value gate(Value both_BTCF, const Kernels& kernels) {
  if (can_fuse_gate(both_BTCF, kernels))
    return fused_gate(both_BTCF, Activation::kSilu, {"", "", ""}, *kernels);
  const std::vector<Value> halves = split(both_BTCF, 2, 2);
  return reshape(silu(halves[0]) * halves[1],
                 {both_BTCF.dim(0), both_BTCF.dim(1), both_BTCF.dim(3)});
}

std::vector<Case> cases_of(DType dtype) {
  constexpr int64_t kTokens = kBatch * kLength;
  const double mlp_flop = 2.0 * kTokens * kWidth * kMlp;
  std::vector<Case> cases = {
      product(dtype, "td,df->tf", "forward", {kTokens, kWidth}, {kWidth, kMlp}, mlp_flop),
      product(dtype, "tf,df->td", "gradient by x", {kTokens, kMlp}, {kWidth, kMlp}, mlp_flop),
      product(dtype, "td,tf->df", "gradient by w", {kTokens, kWidth}, {kTokens, kMlp}, mlp_flop)};
  const Shape stream{dtype, {kBatch, kLength, kWidth}}, wide{dtype, {kBatch, kLength, kMlp}};
  const Shape both{dtype, {kBatch, kLength, 2, kMlp}};
  const Shape heads{dtype, {kBatch, kLength, kHeads, kWidth / kHeads}};
  const Shape logits{dtype, {kBatch, kLength, kWords}}, targets{DType::kS32, {kBatch, kLength}};
  const Shape weights{DType::kF32, {kBatch, kLength}}, number{DType::kF32, {}};
  const Shape matrix{DType::kF32, {kWords, kWidth}};
  cases.push_back({.kernel = "attention",
                   .name = "forward and backward",
                   .inputs = {heads, heads, heads, heads},
                   .body =
                       [](Args args, const Way& way) {
                         const Value out =
                             way.attention.fused
                                 ? fused_attention(args[0], args[1], args[2], {}, {}, way.attention)
                                 : causal_attention(args[0], args[1], args[2]);
                         return with_gradients({out}, args.first(3), args.subspan(3));
                       },
                   .flop = 6.0 * kTokens * kWidth * kLength,
                   .bytes = 2 * bytes_of({heads, heads, heads, heads})});
  cases.push_back(
      {.kernel = "rms_norm",
       .name = "forward and backward, with the addition",
       .inputs = {stream, stream, {dtype, {kWidth}}, stream, stream},
       .body =
           [](Args args, const Way& way) {
             const NormedStream out = norm_stream(args[0], args[1], args[2], 1e-6, way.kernels);
             return with_gradients({out.stream, out.normed}, args.first(3), args.subspan(3));
           },
       .flop = 0,
       .bytes = 8 * bytes_of({stream})});
  cases.push_back({.kernel = "swiglu",
                   .name = "forward and backward",
                   .inputs = {both, wide},
                   .body =
                       [](Args args, const Way& way) {
                         return with_gradients({gate(args[0], way.kernels)}, args.first(1),
                                               args.subspan(1));
                       },
                   .flop = 0,
                   .bytes = 8 * bytes_of({wide})});
  cases.push_back(
      {.kernel = "cross_entropy",
       .name = "forward and backward",
       .inputs = {logits, targets, weights, number},
       .body =
           [](Args args, const Way& way) {
             const LossSums sums = language_model_loss(args[0], args[1], args[2], way.kernels);
             return with_gradients({sums.cross_entropy}, args.first(1), args.subspan(3));
           },
       .flop = 0,
       .bytes = 3 * bytes_of({logits})});
  cases.push_back(
      {.kernel = "adamw",
       .name = "a matrix of 4.2 M",
       .inputs = {matrix, matrix, matrix, {dtype, matrix.dims}, number, number},
       .body =
           [](Args args, const Way& way) {
             const OptimizerConfig config;
             const std::string path = "kernel";
             const ParamSpec spec{.dims = args[0].dims(), .names = {"", ""}, .init = {}};
             const ParamNext next =
                 adamw_rule(config)->update({.path = path,
                                             .spec = spec,
                                             .param = args[0],
                                             .grad = convert(args[3], DType::kF32),
                                             .slots = {args[1], square(args[2])},
                                             .count = abs(args[4]) + 1.0,
                                             .learning_rate = args[5],
                                             .weight_decay = 0.1,
                                             .raw_grad = args[3],
                                             .kernels = way.kernels});
             return std::vector<Value>{next.param, next.slots[0], next.slots[1]};
           },
       .flop = 0,
       .bytes = 6 * bytes_of({matrix}) + bytes_of({{dtype, matrix.dims}})});
  return cases;
}

Result<Array> random_array(Runtime& runtime, const ProgramValue& value) {
  std::mt19937_64 random(value.path.size());
  std::normal_distribution<double> normal;
  std::vector<double> numbers(value.shape.elements());
  const bool is_index = value.shape.dtype == DType::kS32;
  for (double& number : numbers)
    number = is_index ? static_cast<double>(random() % kWords) : normal(random);
  return Array::from_host(runtime, from_doubles(value.shape, numbers), value.sharding);
}

/// One way of a case, compiled, with its arguments.
class Timed {
 public:
  static Result<Timed> create(Runtime& runtime, const Case& c, const KernelChoice& choice) {
    Way way;
    if (choice.has(c.kernel)) {
      way.kernels = std::make_shared<const KernelUse>(
          KernelUse{.names = {c.kernel}, .threads = choice.threads});
    }
    way.attention = {.fused = choice.has("attention"), .kernel_threads = choice.threads};
    std::vector<NamedShape> parameters;
    ASSIGN_OR_RETURN(Mesh mesh, Mesh::create({{"data", 1}}, 1));
    JitOptions options{.name = c.kernel,
                       .mesh = std::move(mesh),
                       .rules = {},
                       .arguments = {},
                       .results = {},
                       .donate = {},
                       .overrides = {},
                       .kernels = choice.op_kernels()};
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      parameters.push_back({str_cat("x", i), c.inputs[i]});
      options.arguments.push_back({parameters.back().name, {}});
    }
    ASSIGN_OR_RETURN(const auto graph,
                     trace(parameters, [&](Graph&, Args args) { return c.body(args, way); }));
    for (size_t i = 0; i < graph->outputs().size(); ++i)
      options.results.push_back({str_cat("y", i), {}});
    ASSIGN_OR_RETURN(CompiledFunction function, jit(runtime, *graph, options));
    std::vector<Array> arguments;
    for (const ProgramValue& value : function.arguments()) {
      ASSIGN_OR_RETURN(Array array, random_array(runtime, value));
      arguments.push_back(std::move(array));
    }
    return Timed(std::move(function), std::move(arguments));
  }

  Status run() {
    const RealClock clock;
    const absl::Duration start = clock.elapsed();
    const double cpu = bench::process_cpu_s();
    ASSIGN_OR_RETURN(const std::vector<Array> results, function_(arguments_));
    for (const Array& result : results) RETURN_IF_ERROR(result.await());
    seconds_ = std::min(seconds_, absl::ToDoubleSeconds(clock.elapsed() - start));
    cpu_seconds_ = std::min(cpu_seconds_, bench::process_cpu_s() - cpu);
    return absl::OkStatus();
  }
  double seconds() const { return seconds_; }
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  Timed(CompiledFunction function, std::vector<Array> arguments)
      : function_(std::move(function)), arguments_(std::move(arguments)) {}

  CompiledFunction function_;
  std::vector<Array> arguments_;
  double seconds_ = 1e9, cpu_seconds_ = 1e9;
};

Status run(int rounds) {
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::create({.plugin = "cpu", .cpu_devices = 1, .client_options = {}}));
  for (const DType dtype : {DType::kBF16, DType::kF32}) {
    for (const Case& c : cases_of(dtype)) {
      ASSIGN_OR_RETURN(const KernelChoice choice, choose_kernels(c.kernel, runtime->client()));
      ASSIGN_OR_RETURN(Timed kernel, Timed::create(*runtime, c, choice));
      ASSIGN_OR_RETURN(Timed twin, Timed::create(*runtime, c, {}));
      for (int round = 0; round < rounds; ++round) {
        RETURN_IF_ERROR(kernel.run());
        RETURN_IF_ERROR(twin.run());
      }
      const double work = c.flop > 0 ? c.flop : c.bytes;
      std::printf(
          "{\"bench\": \"kernels\", \"kernel\": \"%s\", \"case\": \"%s\", \"dtype\": \"%s\", "
          "\"kernel_ms\": %.3f, \"twin_ms\": %.3f, \"kernel_cpu_ms\": %.3f, \"twin_cpu_ms\": %.3f, "
          "\"%s\": %.1f, \"twin_%s\": %.1f}\n",
          c.kernel, c.name.c_str(), std::string(dtype_name(dtype)).c_str(), kernel.seconds() * 1e3,
          twin.seconds() * 1e3, kernel.cpu_seconds() * 1e3, twin.cpu_seconds() * 1e3,
          c.flop > 0 ? "gflop_per_s" : "gb_per_s", work / kernel.seconds() / 1e9,
          c.flop > 0 ? "gflop_per_s" : "gb_per_s", work / twin.seconds() / 1e9);
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  int rounds = 12;
  if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
    rounds = std::max(1, std::atoi(argv[2]));
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_kernels [--rounds N]\n");
    return 2;
  }
  const tessera::Status status = tessera::run(rounds);
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_kernels: %s\n", std::string(status.message()).c_str());
  return 1;
}
