#include "tests/parallel/runs.h"

#include <cmath>
#include <map>
#include <random>

#include "tessera/models/llama/model.h"
#include "tessera/runtime/testing.h"

namespace tessera::parallel_testing {
namespace {

// A row of documents of several lengths: tokens, the token after each, what counts, where a
// document ends.
Result<HostArray> batch_value(const ProgramValue& spec, int64_t vocabulary, int step) {
  const Dims& dims = spec.shape.dims;
  std::mt19937 random(static_cast<uint32_t>(step));
  std::vector<int32_t> tokens, targets, segments, positions;
  std::vector<float> mask;
  for (int64_t row = 0; row < dims[0]; ++row) {
    int32_t segment = 1, position = 0;
    int64_t left = 3 + row % 5;  // of the document
    for (int64_t t = 0; t < dims[1]; ++t) {
      tokens.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocabulary)));
      targets.push_back(static_cast<int32_t>((tokens.back() * 7 + 3) % vocabulary));
      segments.push_back(segment);
      positions.push_back(position++);
      mask.push_back(left == 1 ? 0.0f : 1.0f);
      if (--left > 0) continue;
      left = 5 + static_cast<int64_t>(random() % 9);
      position = 0;
      ++segment;
    }
  }
  if (spec.path == "batch.tokens") return HostArray::from<int32_t>(DType::kS32, dims, tokens);
  if (spec.path == "batch.targets") return HostArray::from<int32_t>(DType::kS32, dims, targets);
  if (spec.path == "batch.segment_ids")
    return HostArray::from<int32_t>(DType::kS32, dims, segments);
  if (spec.path == "batch.positions") return HostArray::from<int32_t>(DType::kS32, dims, positions);
  if (spec.path == "batch.mask") return HostArray::from<float>(DType::kF32, dims, mask);
  return internal_error("nobody knows the argument ", spec.path);
}

HostArray scalar(float value) {
  return HostArray::from<float>(DType::kF32, {}, std::span<const float>(&value, 1));
}

Result<CompiledFunction> compile_step(Runtime& runtime, const RunConfig& config,
                                      const Layout& layout) {
  ASSIGN_OR_RETURN(const TracedProgram step,
                   trace_train_step(Llama(config.model.llama), config, &layout));
  ASSIGN_OR_RETURN(Program program, lower_program(step, "train_step", layout));
  // Quick to compile, slow to run: a few steps of a small model need no more.
  program.overrides = {{"xla_backend_optimization_level", int64_t{0}},
                       {"xla_llvm_disable_expensive_passes", true}};
  return CompiledFunction::compile(runtime, std::move(program));
}

Result<std::map<std::string, std::vector<double>>> params_of(const CompiledFunction& step,
                                                             std::span<const Array> state) {
  std::map<std::string, std::vector<double>> params;
  for (size_t i = 0; i < state.size(); ++i) {
    const std::string& path = step.arguments()[i].path;
    if (!path.starts_with("params.")) continue;
    ASSIGN_OR_RETURN(const HostArray value, state[i].to_host());
    params[path] = to_doubles(value);
  }
  return params;
}

}  // namespace

RunConfig small_config() {
  RunConfig config;
  config.model.llama = {.vocab_size = 64,
                        .layers = 2,
                        .embed = 32,
                        .mlp = 64,
                        .heads = 8,
                        .kv_heads = 8,
                        .init_stddev = 0.1};
  config.training.batch_size = 8;
  config.training.sequence_length = 32;
  config.training.dtype = ComputeType::kF32;
  config.kernels = "off";  // kernels_test.cc has them on every mesh
  return config;
}

Result<Layout> layout_of(const Degrees& degrees, MeshConfig mesh) {
  mesh.ici_degree("fsdp") = 1;
  int64_t devices = mesh.num_slices.value_or(1);
  for (const auto& [axis, degree] : degrees) {
    mesh.ici_degree(axis) = degree;
    devices *= degree;
  }
  ASSIGN_OR_RETURN(const Slices slices, mesh.slices(devices));
  ASSIGN_OR_RETURN(mesh, mesh.resolved(slices));
  return make_layout(mesh, slices);
}

Result<ShortRun> short_run(const RunConfig& config, const Degrees& degrees, const RunOptions& run) {
  const Llama model(config.model.llama);
  ASSIGN_OR_RETURN(const auto runtime, tessera::testing::test_runtime());
  ASSIGN_OR_RETURN(Layout layout, layout_of(degrees, config.mesh));
  RETURN_IF_ERROR(config.validate_mesh(layout.mesh));
  ASSIGN_OR_RETURN(layout.kernels, choose_kernels(config.kernels, runtime->client()));
  ASSIGN_OR_RETURN(const TracedProgram traced_init, trace_init(model, config));
  ASSIGN_OR_RETURN(const CompiledFunction init,
                   compile_program(*runtime, traced_init, "init", layout));
  ASSIGN_OR_RETURN(const CompiledFunction step, compile_step(*runtime, config, layout));
  ASSIGN_OR_RETURN(std::vector<Array> state, init({}));
  const size_t state_size = state.size();
  ShortRun result;
  ASSIGN_OR_RETURN(result.before, params_of(step, state));
  for (int i = 0; i < run.steps; ++i) {
    state.erase(state.begin() + static_cast<int64_t>(state_size), state.end());
    for (const ProgramValue& argument : step.arguments().subspan(state_size)) {
      ASSIGN_OR_RETURN(const HostArray value, argument.path == "learning_rate"
                                                  ? Result<HostArray>(scalar(run.learning_rate))
                                                  : batch_value(argument, model.vocab_size(), i));
      ASSIGN_OR_RETURN(Array array, Array::from_host(*runtime, value, argument.sharding));
      state.push_back(std::move(array));
    }
    ASSIGN_OR_RETURN(state, step(state));
    ASSIGN_OR_RETURN(const HostArray loss, state[state_size].to_host());
    result.losses.push_back(to_doubles(loss)[0]);
  }
  // The step gives its metrics after the state.
  ASSIGN_OR_RETURN(result.after, params_of(step, std::span(state).first(state_size)));
  return result;
}

Result<std::vector<double>> losses(const RunConfig& config, const Degrees& degrees, int steps) {
  ASSIGN_OR_RETURN(ShortRun run, short_run(config, degrees, {.steps = steps}));
  return std::move(run.losses);
}

Result<pjrt::HloModule> compiled_step(const RunConfig& config, const Degrees& degrees) {
  ASSIGN_OR_RETURN(const auto runtime, tessera::testing::test_runtime());
  ASSIGN_OR_RETURN(Layout layout, layout_of(degrees, config.mesh));
  ASSIGN_OR_RETURN(layout.kernels, choose_kernels(config.kernels, runtime->client()));
  ASSIGN_OR_RETURN(const CompiledFunction step, compile_step(*runtime, config, layout));
  ASSIGN_OR_RETURN(const auto program, step.executable().optimized_program());
  return pjrt::HloModule::parse(program.format, program.code);
}

Result<std::string> printed_step(const RunConfig& config, const Degrees& degrees) {
  ASSIGN_OR_RETURN(const auto runtime, tessera::testing::test_runtime());
  ASSIGN_OR_RETURN(Layout layout, layout_of(degrees, config.mesh));
  ASSIGN_OR_RETURN(layout.kernels, choose_kernels(config.kernels, runtime->client()));
  ASSIGN_OR_RETURN(const TracedProgram step,
                   trace_train_step(Llama(config.model.llama), config, &layout));
  ASSIGN_OR_RETURN(const Program program, lower_program(step, "train_step", layout));
  return program.text;
}

double worst_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double worst = got.size() == expected.size() ? 0 : INFINITY;
  for (size_t i = 0; i < got.size() && i < expected.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]) / std::fabs(expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace tessera::parallel_testing
