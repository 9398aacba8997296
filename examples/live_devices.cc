// Goes on when processes die and come back: fits y = a x to y = 10 x on all devices of several
// processes, each a slice of the batch. A process that was started again gets `a` and the step from
// one that lives. To be started by `tessera launch --on-failure elastic` (docs/live_devices.md):
//
//   example_live_devices PLUGIN [PROCESS STEP]     that process is killed, once, in the midst of
//                                                  that step
//
// Exits with 0 when a is 10 after 100 steps, whatever happened in between.

#include "tessera/live/live_devices.h"

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/coord/join.h"
#include "tessera/coord/shared_values.h"
#include "tessera/ops/autodiff.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reduce.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/process_arrays.h"

namespace tessera {

constexpr int64_t kSteps = 100, kSamples = 600, kPerDevice = 10;
constexpr double kRate = 1e-6;

// (a, x_B) → a
std::vector<Value> train_step(Graph&, std::span<const Value> in) {
  const Value error_B = in[0] * in[1] - in[1] * 10.0;
  const Value loss = mean(error_B * error_B);
  return {in[0] - gradients(loss, in.first(1))[0] * kRate};
}

std::vector<Value> sum_rows(Graph&, std::span<const Value> in) { return {sum(in[0], {0})}; }

class Fit {
 public:
  struct State {
    Array a;  // f32[], on this process's own devices
    int64_t step = 0;
  };

  Fit(Runtime& runtime, int64_t dies_at) : runtime_(runtime), dies_at_(dies_at) {}

  Result<State> start() {
    std::vector<int64_t> ids;
    for (const pjrt::Device& device : runtime_.client().addressable_devices())
      ids.push_back(device.id());
    const auto count = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(const Mesh mesh, Mesh::create({{"own", count}}, std::move(ids)));
    own_ = NamedSharding::replicated(mesh);
    State state;
    ASSIGN_OR_RETURN(state.a, Array::from_host(runtime_, HostArray(Shape{DType::kF32, {}}), *own_));
    return state;
  }

  // A step on these devices. What it changes is another State: only when all processes have got
  // there, it becomes the one that counts.
  Result<State> step(State state, std::span<const int64_t> devices) {
    RETURN_IF_ERROR(use(devices));
    RETURN_IF_ERROR(catch_up(state));
    ASSIGN_OR_RETURN(const Array x, batch(state.step));
    const ProgramValue& a = step_->arguments()[0];
    ASSIGN_OR_RETURN(const Array before, process_local_to_global(runtime_, state.a, a.sharding));
    if (state.step == dies_at_) raise(SIGKILL);
    ASSIGN_OR_RETURN(const auto after, (*step_)(std::vector<Array>{before, x}));
    ASSIGN_OR_RETURN(state.a, global_to_process_local(runtime_, after[0], *own_));
    ++state.step;
    RETURN_IF_ERROR(state.a.await());  // or nobody would know whether it is there
    return state;
  }

 private:
  // Programs for these devices, when they are others than before.
  Status use(std::span<const int64_t> devices) {
    if (step_ && std::ranges::equal(step_->mesh().device_ids(), devices)) return absl::OkStatus();
    const auto count = static_cast<int64_t>(devices.size());
    ASSIGN_OR_RETURN(const Mesh mesh,
                     Mesh::create({{"data", count}}, std::vector(devices.begin(), devices.end())));
    const AxisRules rules({{"batch", {"data"}}});
    const std::vector<NamedShape> step_in = {{"a", {DType::kF32, {}}},
                                             {"x", {DType::kF32, {kPerDevice * count}}}};
    ASSIGN_OR_RETURN(const auto step, trace(step_in, train_step));
    ASSIGN_OR_RETURN(step_, jit(runtime_, *step,
                                {.name = "train_step",
                                 .mesh = mesh,
                                 .rules = rules,
                                 .arguments = {{"a", {}}, {"x", {"batch"}}},
                                 .results = {{"a", {}}}}));
    const std::vector<NamedShape> sum_in = {{"rows", {DType::kF32, {count}}}};
    ASSIGN_OR_RETURN(const auto sum, trace(sum_in, sum_rows));
    ASSIGN_OR_RETURN(sum_, jit(runtime_, *sum,
                               {.name = "sum",
                                .mesh = mesh,
                                .rules = rules,
                                .arguments = {{"rows", {"batch"}}},
                                .results = {{"sum", {}}}}));
    return absl::OkStatus();
  }

  // An element a device: `value` of its place in the mesh.
  Result<Array> row(DType dtype, const std::function<double(int64_t)>& value) {
    const ProgramValue& rows = sum_->arguments()[0];
    return Array::from_shards(runtime_, Shape{dtype, rows.shape.dims}, rows.sharding,
                              [&](const Box& box) -> Result<HostArray> {
                                HostArray part(Shape{dtype, box.dims});
                                const double own = value(box.start[0]);
                                if (dtype == DType::kS32)
                                  part.as<int32_t>()[0] = static_cast<int32_t>(own);
                                else
                                  part.as<float>()[0] = static_cast<float>(own);
                                return part;
                              });
  }

  // Every device tells its step. Where they differ, one that is ahead gives its state to all:
  // a sum to which the others add nothing.
  Status catch_up(State& state) {
    ASSIGN_OR_RETURN(const Array own,
                     row(DType::kS32, [&](int64_t) { return static_cast<double>(state.step); }));
    ASSIGN_OR_RETURN(const Array all,
                     device_put(runtime_, own, NamedSharding::replicated(step_->mesh())));
    ASSIGN_OR_RETURN(const HostArray gathered, all.to_host());
    const auto steps = gathered.as<int32_t>();
    const auto [least, most] = std::ranges::minmax_element(steps);
    if (*least == *most) return absl::OkStatus();
    ASSIGN_OR_RETURN(const HostArray a, state.a.to_host());
    const int64_t source = std::ranges::find(steps, *most) - steps.begin();
    ASSIGN_OR_RETURN(const Array rows, row(DType::kF32, [&](int64_t position) {
                       return position == source ? a.as<float>()[0] : 0;
                     }));
    ASSIGN_OR_RETURN(const auto sums, (*sum_)(std::vector<Array>{rows}));
    ASSIGN_OR_RETURN(state.a, global_to_process_local(runtime_, sums[0], *own_));
    if (state.step < *most) std::printf("goes on from step %d\n", *most);
    state.step = *most;
    return absl::OkStatus();
  }

  Result<Array> batch(int64_t step) {
    const ProgramValue& x = step_->arguments()[1];
    const int64_t first = step * x.shape.dims[0];
    return Array::from_shards(
        runtime_, x.shape, x.sharding, [&](const Box& box) -> Result<HostArray> {
          HostArray part(Shape{DType::kF32, box.dims});
          for (int64_t i = 0; i < box.dims[0]; ++i)
            part.as<float>()[i] = 0.5f * static_cast<float>((first + box.start[0] + i) % kSamples);
          return part;
        });
  }

  Runtime& runtime_;
  const int64_t dies_at_;
  std::optional<NamedSharding> own_;
  std::optional<CompiledFunction> step_, sum_;
};

Status train(Runtime& runtime, coord::Client& coordinator, MemberWatch& watch, int64_t dies_at) {
  ASSIGN_OR_RETURN(const auto live, LiveDevices::create(runtime, coordinator, watch));
  Fit fit(runtime, dies_at);
  ASSIGN_OR_RETURN(Fit::State state, fit.start());
  while (state.step < kSteps) {
    Fit::State next;
    size_t devices = 0;
    const Status done = live->run([&](std::span<const int64_t> ids) -> Status {
      devices = ids.size();
      ASSIGN_OR_RETURN(next, fit.step(state, ids));
      return absl::OkStatus();
    });
    if (done.ok()) {
      state = next;
      if (state.step % 10 != 0) continue;
      ASSIGN_OR_RETURN(const HostArray a, state.a.to_host());
      std::printf("step %d: a = %.4f on %zu devices\n", static_cast<int>(state.step),
                  a.as<float>()[0], devices);
    } else if (!failed_devices(done).empty()) {
      std::printf("after step %d: %s\n", static_cast<int>(state.step), done.ToString().c_str());
    } else {
      return done;
    }
    std::fflush(stdout);
  }
  ASSIGN_OR_RETURN(const HostArray a, state.a.to_host());
  if (std::abs(a.as<float>()[0] - 10) > 0.1) return internal_error("a is ", a.as<float>()[0]);
  return absl::OkStatus();
}

Status run(const std::string& plugin, int dies, int64_t dies_at) {
  coord::ClusterConfig config;
  const coord::Surroundings surroundings = coord::real_surroundings();
  RETURN_IF_ERROR(config.fill_from(surroundings.environment));
  ASSIGN_OR_RETURN(const auto spec, coord::find_cluster(config, surroundings));
  if (!spec) return failed_precondition("start this by tessera launch --on-failure elastic");
  PosixFileSystem files;
  RealClock clock;
  MemberWatch watch;  // outlives the membership, whose threads use it
  ASSIGN_OR_RETURN(
      const auto membership,
      coord::Membership::join(
          config, *spec, files, clock,
          [&](const Status&) { watch.fail(spec->process, spec->processes); },
          [&](const std::vector<coord::MemberChange>& changes) { watch.take_changes(changes); }));
  {
    ASSIGN_OR_RETURN(
        const auto runtime,
        Runtime::create({.plugin = plugin,
                         .cpu_devices = 1,
                         .group = {.process = spec->process,
                                   .processes = spec->processes,
                                   .key_values = coord::shared_values(membership->client(), "")}}));
    const bool first_start = surroundings.environment.count("TESSERA_RESTART") == 0 ||
                             surroundings.environment.at("TESSERA_RESTART") == "0";
    RETURN_IF_ERROR(train(*runtime, membership->client(), watch,
                          first_start && spec->process == dies ? dies_at : -1));
  }
  return membership->leave();
}

}  // namespace tessera

int main(int argc, char** argv) {
  const tessera::Status status =
      tessera::run(argc > 1 ? argv[1] : "cpu", argc > 3 ? std::atoi(argv[2]) : -1,
                   argc > 3 ? std::atoi(argv[3]) : -1);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
