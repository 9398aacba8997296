#include "tests/moe/moe_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tessera/runtime/testing.h"
#include "tessera/train/compile.h"
#include "tessera/train/session.h"
#include "tests/ops/op_testing.h"

namespace tessera::moe {
namespace {

using op_testing::as_dtype;
using op_testing::random_f64;

// Integers by a rule of row and column.
HostArray by_place(const Shape& shape, const std::function<double(int64_t, int64_t)>& rule) {
  std::vector<double> values;
  for (int64_t b = 0; b < shape.dims[0]; ++b)
    for (int64_t t = 0; t < shape.dims[1]; ++t) values.push_back(rule(b, t));
  return from_doubles(shape, values);
}

// Rows of two documents, of which every other one ends in padding.
HostArray batch_value(const std::string& path, const Shape& shape, int64_t vocabulary) {
  const int64_t length = shape.dims[1];
  const auto token = [&](int64_t b, int64_t t) {
    return static_cast<double>((b * 131 + t * t * 17 + t * 5 + 3) % vocabulary);
  };
  const auto text = [&](int64_t b, int64_t t) { return b % 2 == 0 || t < length - 3 - b; };
  const auto second = [&](int64_t b, int64_t t) { return t >= length / 3 + b; };
  return by_place(shape, [&](int64_t b, int64_t t) -> double {
    if (path == "batch.tokens") return token(b, t);
    if (path == "batch.targets") return token(b, t + 1);
    if (!text(b, t)) return 0;
    if (path == "batch.mask") return 1;
    if (path == "batch.segment_ids") return second(b, t) ? 2 : 1;
    return static_cast<double>(second(b, t) ? t - length / 3 - b : t);  // batch.positions
  });
}

HostArray initial_value(const ProgramValue& argument, const RunConfig& config) {
  if (argument.path.starts_with("batch."))
    return batch_value(argument.path, argument.shape, config.model.llama.vocab_size);
  if (argument.path == "learning_rate") return from_doubles(argument.shape, {{0.003}});
  if (!argument.path.starts_with("params.")) return HostArray(argument.shape);
  const bool scale = argument.path.ends_with("scale");
  const double width = scale ? 0.1 : 0.35, middle = scale ? 1 : 0;
  const uint64_t seed = std::accumulate(argument.path.begin(), argument.path.end(), uint64_t{7},
                                        [](uint64_t h, char c) { return h * 31 + c; });
  return as_dtype(random_f64(argument.shape.dims, middle - width, middle + width, seed),
                  DType::kF32);
}

}  // namespace

std::string to_string(const Degrees& degrees) {
  std::string text;
  for (const auto& [axis, degree] : degrees)
    str_append(&text, text.empty() ? "" : " ", axis, "=", degree);
  return text.empty() ? "one device" : text;
}

RunConfig small_config() {
  RunConfig config;
  config.model.family = "mixtral";
  config.model.llama = {
      .vocab_size = 32, .layers = 2, .embed = 16, .mlp = 64, .heads = 4, .kv_heads = 4};
  config.model.mixture.router_z_loss = 0.001;
  config.training.batch_size = 8;
  config.training.sequence_length = 32;
  config.training.dtype = ComputeType::kF32;
  return config;
}

Result<Run> run(RunConfig config, const Degrees& degrees, int steps) {
  int64_t devices = 1;
  config.mesh.ici_degree("fsdp") = 1;
  for (const auto& [axis, degree] : degrees) {
    config.mesh.ici_degree(axis) = degree;
    devices *= degree;
  }
  ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(devices));
  ASSIGN_OR_RETURN(config.mesh, config.mesh.resolved(slices));
  ASSIGN_OR_RETURN(const Layout layout, make_layout(config.mesh, slices));
  RETURN_IF_ERROR(config.validate_mesh(layout.mesh));
  ASSIGN_OR_RETURN(const auto model, make_model(config.model));
  ASSIGN_OR_RETURN(const auto runtime, testing::test_runtime());
  ASSIGN_OR_RETURN(const TracedProgram traced, trace_train_step(*model, config, &layout));
  ASSIGN_OR_RETURN(const CompiledFunction step,
                   compile_program(*runtime, traced, "train_step", layout));
  Tree<Array> arguments;
  for (const ProgramValue& argument : step.arguments()) {
    const HostArray value = initial_value(argument, config);
    ASSIGN_OR_RETURN(Array array, Array::from_host(*runtime, value, argument.sharding));
    RETURN_IF_ERROR(arguments.add(argument.path, std::move(array)));
  }
  Run result;
  for (int i = 0; i < steps; ++i) {
    ASSIGN_OR_RETURN(const Tree<Array> results, call(step, arguments));
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (const Array* next = results.find(arguments[k].first)) arguments.value(k) = *next;
    }
    ASSIGN_OR_RETURN(const HostArray loss, results.at("metrics.loss").to_host());
    result.losses.push_back(to_doubles(loss)[0]);
  }
  ASSIGN_OR_RETURN(const auto program, step.executable().optimized_program());
  ASSIGN_OR_RETURN(result.module, pjrt::HloModule::parse(program.format, program.code));
  return result;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  CHECK(a.size() == b.size());
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]) / b[i]);
  return most;
}

}  // namespace tessera::moe
