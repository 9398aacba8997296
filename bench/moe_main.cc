// Training steps of a small mixture of experts, eight with two a token, in the ways that tokens can
// be given places: dropless by rounds, one round with room for the worst case, a capacity. With
// tokens drawn from many words, which the fresh router spreads well, and from four, which it does
// not. The ways take turns, so that what else the machine does meets all of them.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "tessera/base/clock.h"
#include "tessera/train/compile.h"
#include "tessera/train/session.h"

namespace tessera {
namespace {

struct Way {
  const char* name;
  std::optional<double> capacity_factor;
};
constexpr int kWords = 512, kFewWords = 4, kRounds = 6;

RunConfig config_of(const Way& way) {
  RunConfig config;
  config.model.family = "mixtral";
  config.model.llama = {
      .vocab_size = kWords, .layers = 2, .embed = 256, .mlp = 1024, .heads = 4, .kv_heads = 4};
  config.model.mixture.capacity_factor = way.capacity_factor;
  config.training.batch_size = 4;
  config.training.sequence_length = 512;
  config.training.dtype = ComputeType::kF32;
  config.training.attend_across_documents = true;
  config.mesh.ici_degree("fsdp") = 1;
  return config;
}

Result<Array> filled(Runtime& runtime, const ProgramValue& value, int words) {
  HostArray host(value.shape);
  std::mt19937_64 random(value.path.size());
  if (value.shape.dtype == DType::kS32) {
    for (int32_t& token : host.as<int32_t>())
      token = static_cast<int32_t>(random() % static_cast<uint64_t>(words));
  } else {
    std::ranges::fill(host.as<float>(), value.shape.rank() == 0 ? 0.0f : 1.0f);
  }
  return Array::from_host(runtime, host, value.sharding);
}

// A compiled step with its state, which a learning rate of zero leaves as it is.
class Trainer {
 public:
  static Result<Trainer> create(Runtime& runtime, const Way& way) {
    const RunConfig config = config_of(way);
    ASSIGN_OR_RETURN(const auto model, make_model(config.model));
    ASSIGN_OR_RETURN(const Slices slices, config.mesh.slices(1));
    ASSIGN_OR_RETURN(const MeshConfig mesh, config.mesh.resolved(slices));
    ASSIGN_OR_RETURN(const Layout layout, make_layout(mesh, slices));
    ASSIGN_OR_RETURN(const TracedProgram init, trace_init(*model, config));
    ASSIGN_OR_RETURN(const TracedProgram traced, trace_train_step(*model, config));
    ASSIGN_OR_RETURN(const auto make_state, compile_program(runtime, init, "init", layout));
    ASSIGN_OR_RETURN(const auto step, compile_program(runtime, traced, "train_step", layout));
    ASSIGN_OR_RETURN(std::vector<Array> state, make_state({}));
    return Trainer(runtime, step, std::move(state));
  }

  Result<double> seconds(int words) {
    std::vector<Array> arguments = state_;
    for (size_t i = state_.size(); i < step_.arguments().size(); ++i) {
      ASSIGN_OR_RETURN(Array array, filled(*runtime_, step_.arguments()[i], words));
      arguments.push_back(std::move(array));
    }
    const RealClock clock;
    const absl::Duration start = clock.elapsed();
    ASSIGN_OR_RETURN(std::vector<Array> results, step_(arguments));
    for (const Array& result : results) RETURN_IF_ERROR(result.await());
    results.resize(state_.size());
    state_ = std::move(results);
    return absl::ToDoubleSeconds(clock.elapsed() - start);
  }

  Result<double> temp_mb() const {
    ASSIGN_OR_RETURN(const auto stats, step_.executable().memory_stats());
    return static_cast<double>(stats.temp_bytes) / 1e6;
  }

 private:
  Trainer(Runtime& runtime, CompiledFunction step, std::vector<Array> state)
      : runtime_(&runtime), step_(std::move(step)), state_(std::move(state)) {}

  Runtime* runtime_;
  CompiledFunction step_;
  std::vector<Array> state_;
};

Status run() {
  const Way ways[] = {{"dropless", {}}, {"worst case", 4.0}, {"capacity 1.25", 1.25}};
  ASSIGN_OR_RETURN(const auto runtime,
                   Runtime::create({.plugin = "cpu", .cpu_devices = 1, .client_options = {}}));
  std::vector<Trainer> trainers;
  for (const Way& way : ways) {
    ASSIGN_OR_RETURN(Trainer trainer, Trainer::create(*runtime, way));
    trainers.push_back(std::move(trainer));
  }
  std::vector<double> many(trainers.size(), 1e9), few = many;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < trainers.size(); ++i) {
      ASSIGN_OR_RETURN(const double spread, trainers[i].seconds(kWords));
      ASSIGN_OR_RETURN(const double crowded, trainers[i].seconds(kFewWords));
      if (round == 0) continue;  // warms up
      many[i] = std::min(many[i], spread);
      few[i] = std::min(few[i], crowded);
    }
  }
  for (size_t i = 0; i < trainers.size(); ++i) {
    ASSIGN_OR_RETURN(const double temp_mb, trainers[i].temp_mb());
    std::printf(
        "{\"bench\": \"moe\", \"way\": \"%s\", \"step_s\": %.3f, \"step_s_few_words\": %.3f, "
        "\"temp_mb\": %.1f}\n",
        ways[i].name, many[i], few[i], temp_mb);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main() {
  const tessera::Status status = tessera::run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_moe: %s\n", std::string(status.message()).c_str());
  return 1;
}
