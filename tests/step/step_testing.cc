#include "tests/step/step_testing.h"

#include <cmath>

#include "tessera/train/step.h"
#include "tests/parity/formula.h"

namespace tessera::step_testing {

RunConfig small_config() {
  RunConfig config;
  config.model.llama = {.vocab_size = 64,
                        .layers = 2,
                        .embed = 32,
                        .mlp = 48,
                        .heads = 4,
                        .kv_heads = 2,
                        .init_stddev = 0.1};
  config.training.batch_size = 8;
  config.training.sequence_length = 16;
  config.training.dtype = ComputeType::kF32;
  return config;
}

Layout layout_of(std::vector<MeshAxis> axes) {
  MeshConfig config;
  for (const MeshAxis& axis : axes) config.ici_degree(axis.name) = axis.size;
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  if (axes.empty()) config.ici_degree("fsdp") = 1;
  const auto slices = config.slices(devices);
  CHECK_MSG(slices.ok(), slices.status().ToString());
  const auto resolved = config.resolved(*slices);
  CHECK_MSG(resolved.ok(), resolved.status().ToString());
  auto layout = make_layout(*resolved, *slices);
  CHECK_MSG(layout.ok(), layout.status().ToString());
  return *std::move(layout);
}

Result<Inputs> initial_state(const LanguageModel& model, const RunConfig& config) {
  ASSIGN_OR_RETURN(const TracedProgram init, trace_init(model, config));
  return run(init, {});
}

Inputs uneven_batch(const TrainingConfig& training, int64_t vocabulary, uint32_t seed) {
  const Dims dims = {training.batch_size, training.sequence_length};
  Inputs batch;
  CHECK(batch.add("batch.tokens", parity::tokens(100 + seed, vocabulary, dims)).ok());
  CHECK(batch.add("batch.targets", parity::tokens(200 + seed, vocabulary, dims)).ok());
  HostArray mask(Shape{DType::kF32, dims}), segments(Shape{DType::kS32, dims}),
      positions(Shape{DType::kS32, dims});
  for (int64_t row = 0; row < dims[0]; ++row) {
    const int64_t counted = row * row * dims[1] / (dims[0] * dims[0]);  // none in row 0
    const int64_t second = 3 + row % 5;                                 // where document 2 begins
    for (int64_t t = 0; t < dims[1]; ++t) {
      const size_t i = row * dims[1] + t;
      mask.as<float>()[i] = t < counted ? 1 : 0;
      segments.as<int32_t>()[i] = t < second ? 1 : 2;
      positions.as<int32_t>()[i] = static_cast<int32_t>(t < second ? t : t - second);
    }
  }
  CHECK(batch.add("batch.mask", mask).ok());
  if (training.attend_across_documents) return batch;
  CHECK(batch.add("batch.segment_ids", segments).ok());
  CHECK(batch.add("batch.positions", positions).ok());
  return batch;
}

HostArray f32_scalar(float value) {
  return HostArray::from<float>(DType::kF32, {}, std::span<const float>(&value, 1));
}

Result<Compiled> Compiled::create(const TracedProgram& program, const Layout& layout) {
  Compiled compiled;
  ASSIGN_OR_RETURN(compiled.runtime_, tessera::testing::test_runtime());
  ASSIGN_OR_RETURN(CompiledFunction function,
                   compile_program(*compiled.runtime_, program, "tested", layout));
  compiled.function_ = std::make_shared<CompiledFunction>(std::move(function));
  return compiled;
}

Result<Inputs> Compiled::run(const Inputs& inputs) const {
  Tree<Array> arguments;
  for (const ProgramValue& argument : function_->arguments()) {
    const HostArray* host = inputs.find(argument.path);
    if (!host) return invalid_argument("the test gives no ", argument.path);
    ASSIGN_OR_RETURN(Array array, Array::from_host(*runtime_, *host, argument.sharding));
    RETURN_IF_ERROR(arguments.add(argument.path, std::move(array)));
  }
  ASSIGN_OR_RETURN(const Tree<Array> results, call(*function_, arguments));
  Inputs host_results;
  for (const auto& [path, array] : results) {
    ASSIGN_OR_RETURN(HostArray host, array.to_host());
    RETURN_IF_ERROR(host_results.add(path, std::move(host)));
  }
  return host_results;
}

Result<Inputs> run(const TracedProgram& program, const Inputs& inputs, const Layout& layout) {
  ASSIGN_OR_RETURN(const Compiled compiled, Compiled::create(program, layout));
  return compiled.run(inputs);
}

Inputs with(Inputs from, const Inputs& more) {
  for (const auto& [path, array] : more) {
    if (HostArray* old = from.find(path)) {
      *old = array;
    } else {
      CHECK(from.add(path, array).ok());
    }
  }
  return from;
}

std::vector<double> doubles(const Inputs& results, std::string_view path) {
  return to_doubles(results.at(path));
}

double number(const Inputs& results, std::string_view path) { return doubles(results, path)[0]; }

double relative_distance(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return INFINITY;
  double apart = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    apart = std::max(apart, std::fabs(a[i] - b[i]));
    scale = std::max(scale, std::fabs(a[i]));
  }
  return scale > 0 ? apart / scale : apart;
}

}  // namespace tessera::step_testing
