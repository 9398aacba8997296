// What the check of the order of launches costs: steps of two processes with and without it, in
// turn, and the launch path alone.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/coord/client.h"
#include "tessera/coord/server.h"
#include "tessera/coord/shared_values.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/reduce.h"
#include "tessera/pjrt/testing.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/launch_order.h"

namespace tessera {
namespace {

constexpr int kProcesses = 2, kRounds = 6, kSteps = 100;
constexpr int64_t kRows = 128, kWidth = 256;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Products and a sum over all devices: a small step.
Result<CompiledFunction> compile(Runtime& runtime) {
  ASSIGN_OR_RETURN(const Mesh mesh, runtime.mesh({{"data", -1}}));
  const std::vector<NamedShape> parameters = {{"x", {DType::kF32, {kRows * mesh.size(), kWidth}}},
                                              {"w", {DType::kF32, {kWidth, kWidth}}}};
  ASSIGN_OR_RETURN(const auto graph,
                   trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                     return {sum(matmul(matmul(p[0], p[1]), p[1]), {0})};
                   }));
  return jit(runtime, *graph,
             {.name = "step",
              .mesh = mesh,
              .rules = {{"rows", {"data"}}},
              .arguments = {{"x", {"rows", ""}}, {"w", {"", ""}}},
              .results = {{"y", {""}}}});
}

class Side {
 public:
  static Result<Side> make(coord::Client& coordinator, const std::string& plugin, bool check) {
    Side side;
    ASSIGN_OR_RETURN(side.runtime_,
                     Runtime::create({.plugin = plugin,
                                      .cpu_devices = 1,
                                      .group = {.process = coordinator.process(),
                                                .processes = kProcesses,
                                                .key_values = coord::shared_values(
                                                    coordinator, check ? "on/" : "off/")},
                                      .check_launch_order = check}));
    ASSIGN_OR_RETURN(CompiledFunction function, compile(*side.runtime_));
    for (const ProgramValue& argument : function.arguments()) {
      ASSIGN_OR_RETURN(Array array, Array::from_host(*side.runtime_, HostArray(argument.shape),
                                                     argument.sharding));
      side.arguments_.push_back(std::move(array));
    }
    side.function_.emplace(std::move(function));
    return side;
  }
  /// Milliseconds a step, two under way as in training.
  Result<double> run(const Clock& clock) const {
    const absl::Duration start = clock.elapsed();
    std::vector<Array> last;
    for (int step = 0; step < kSteps; ++step) {
      ASSIGN_OR_RETURN(std::vector<Array> next, (*function_)(arguments_));
      if (!last.empty()) RETURN_IF_ERROR(last[0].await());
      last = std::move(next);
    }
    RETURN_IF_ERROR(last[0].await());
    return absl::ToDoubleMilliseconds(clock.elapsed() - start) / kSteps;
  }
  /// Microseconds that the check adds to a launch.
  double launch_us(const Clock& clock) const {
    constexpr int kLaunches = 100'000;
    LaunchOrder& order = *runtime_->launch_order();
    const auto* program =
        order.add("launch", "text", function_->mesh(), *runtime_->processes(function_->mesh()));
    const absl::Duration start = clock.elapsed();
    for (int i = 0; i < kLaunches; ++i) CHECK(order.begin(*program).ok());
    return absl::ToDoubleMicroseconds(clock.elapsed() - start) / kLaunches;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::vector<Array> arguments_;
  std::optional<CompiledFunction> function_;
};

Status run(int process, int port) {
  RealClock clock;
  ASSIGN_OR_RETURN(
      const auto coordinator,
      coord::Client::connect(
          {.coordinator = str_cat("127.0.0.1:", port), .process = process, .processes = kProcesses},
          clock));
  ASSIGN_OR_RETURN(const std::string plugin, pjrt::testing::test_plugin_path());
  {
    ASSIGN_OR_RETURN(const Side off, Side::make(*coordinator, plugin, false));
    ASSIGN_OR_RETURN(const Side on, Side::make(*coordinator, plugin, true));
    std::vector<double> off_ms, on_ms;
    for (int round = 0; round <= kRounds; ++round) {
      ASSIGN_OR_RETURN(const double without, off.run(clock));
      ASSIGN_OR_RETURN(const double with, on.run(clock));
      if (round == 0) continue;
      off_ms.push_back(without);
      on_ms.push_back(with);
    }
    const double launch_us = on.launch_us(clock);
    if (process == 0) {
      std::printf(
          "{\"bench\": \"launch_order\", \"processes\": %d, \"step_ms_off\": %.3f, "
          "\"step_ms_on\": %.3f, \"launch_us\": %.3f}\n",
          kProcesses, median(off_ms), median(on_ms), launch_us);
      std::fflush(stdout);
    }
  }
  return coordinator->shutdown();
}

}  // namespace
}  // namespace tessera

// usage: bench_launch_order; with "PROCESS PORT" it is one of the processes.
int main(int argc, char** argv) {
  using namespace tessera;
  if (argc == 3) {
    const Status status = run(std::atoi(argv[1]), std::atoi(argv[2]));
    if (status.ok()) return 0;
    std::fprintf(stderr, "bench_launch_order: %s\n", status.ToString().c_str());
    return 1;
  }
  PosixFileSystem files;
  RealClock clock;
  const auto server = coord::Server::start({.processes = kProcesses}, files, clock);
  if (!server.ok()) return 1;
  const std::string port = std::to_string((*server)->port());
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const std::string number = std::to_string(process);
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", argv[0], number.c_str(), port.c_str(), nullptr);
      _exit(127);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) failed = 1;
  }
  return failed;
}
