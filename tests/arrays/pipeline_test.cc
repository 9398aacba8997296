// A pipeline: a jitted stage on each process's devices, joined by device_put. Nobody schedules it:
// launches return at once, and each device takes them in order.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tessera/base/filesystem.h"
#include "tessera/base/json.h"
#include "tessera/base/testing.h"
#include "tessera/ops/elementwise_unary.h"
#include "tessera/ops/linear.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/process_arrays.h"
#include "tessera/runtime/timeline.h"
#include "tests/arrays/member_runtime.h"

namespace tessera::process_testing {
namespace {

constexpr int64_t kWidth = 192;
constexpr int kProducts = 24, kMicrobatches = 8;

HostArray weights() {
  HostArray w(Shape{DType::kF32, {kWidth, kWidth}});
  auto values = w.as<float>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(i * 2654435761u % 2001) - 1000) * 1e-4f;
  return w;
}

HostArray microbatch(int number) {
  HostArray x(Shape{DType::kF32, {kWidth, kWidth}});
  auto values = x.as<float>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i * 40503u + number * 977u) % 1000) * 1e-3f - 0.5f;
  return x;
}

// x: f32[rows, kWidth] over "x", w whole on each device: tanh(x w), again and again.
Result<CompiledFunction> compile_stage(Runtime& runtime, const std::string& name,
                                       const Mesh& mesh) {
  const Shape shape{DType::kF32, {kWidth, kWidth}};
  const std::vector<NamedShape> parameters = {{"x", shape}, {"w", shape}};
  ASSIGN_OR_RETURN(const auto graph,
                   trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                     Value x = p[0];
                     for (int i = 0; i < kProducts; ++i) x = tanh(matmul(x, p[1]));
                     return {x};
                   }));
  return jit(runtime, *graph,
             {.name = name,
              .mesh = mesh,
              .rules = {{"rows", {"x"}}},
              .arguments = {{"x", {"rows", ""}}, {"w", {"", ""}}},
              .results = {{"y", {"rows", ""}}}});
}

struct Stage {
  NamedSharding rows;
  Array w;
  CompiledFunction function;
};

// A stage on each process's devices.
Result<std::vector<Stage>> make_stages(Runtime& runtime, int processes) {
  const int devices = static_cast<int>(all_ids(runtime).size()) / processes;
  std::vector<Stage> stages;
  for (int i = 0; i < processes; ++i) {
    std::vector<int> places;
    for (int device = 0; device < devices; ++device) places.push_back(i * devices + device);
    const auto rows = over(runtime, {{"x", devices}}, places, {{{"x"}}});
    ASSIGN_OR_RETURN(Array w,
                     Array::from_host(runtime, weights(), NamedSharding::replicated(rows.mesh())));
    ASSIGN_OR_RETURN(CompiledFunction function,
                     compile_stage(runtime, str_cat("stage", i), rows.mesh()));
    stages.push_back({rows, std::move(w), std::move(function)});
  }
  return stages;
}

Result<Array> run_through(Runtime& runtime, const std::vector<Stage>& stages, Array x) {
  for (const Stage& stage : stages) {
    ASSIGN_OR_RETURN(x, device_put(runtime, x, stage.rows));
    ASSIGN_OR_RETURN(const auto results, stage.function(std::vector<Array>{x, stage.w}));
    x = results[0];
  }
  return x;
}

TESSERA_PROCESS_BODY(run_pipeline) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  static const RealClock clock;
  ASSIGN_OR_RETURN(const auto stages, make_stages(*runtime, member.processes()));
  std::vector<Array> inputs, outputs;
  for (int i = 0; i < kMicrobatches; ++i) {
    ASSIGN_OR_RETURN(Array x, Array::from_host(*runtime, microbatch(i), stages[0].rows));
    inputs.push_back(std::move(x));
  }
  // Once before: connections are made and transfers compiled.
  ASSIGN_OR_RETURN(const Array first, run_through(*runtime, stages, inputs[0]));
  RETURN_IF_ERROR(first.await());
  RETURN_IF_ERROR(member.meet("all are ready"));

  const auto timeline = std::make_shared<Timeline>(member.process(), clock);
  runtime->record(timeline);
  for (const Array& x : inputs) {
    ASSIGN_OR_RETURN(Array y, run_through(*runtime, stages, x));
    outputs.push_back(std::move(y));
    if (Member::setting("ONE_BY_ONE").empty()) continue;
    static_cast<void>(timeline->records());  // waits
    RETURN_IF_ERROR(member.meet(str_cat("microbatch ", outputs.size())));
  }
  runtime->record(nullptr);
  PosixFileSystem files;
  RETURN_IF_ERROR(
      files.write_file_atomic(str_cat(Member::setting("TRACES"), "/", member.process(), ".json"),
                              timeline->chrome_trace()));

  // The same stages one after the other on this process's devices alone: the same bits.
  const Stage& own = stages[member.process()];
  for (int i = 0; i < kMicrobatches; ++i) {
    ASSIGN_OR_RETURN(const HostArray got, gather_to_host(*runtime, outputs[i]));
    ASSIGN_OR_RETURN(Array x, Array::from_host(*runtime, microbatch(i), own.rows));
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      ASSIGN_OR_RETURN(const auto results, own.function(std::vector<Array>{x, own.w}));
      x = results[0];
    }
    ASSIGN_OR_RETURN(const HostArray wanted, x.to_host());
    if (!same_bits(got, wanted)) return data_loss("microbatch ", i, " came out otherwise");
  }
  return member.meet("end");
}

struct Interval {
  double begin = 0, end = 0;
};

// By stage and call, from the traces of all processes.
std::map<std::pair<std::string, int>, Interval> read_traces(const std::string& folder,
                                                            int processes) {
  std::map<std::pair<std::string, int>, Interval> spans;
  PosixFileSystem files;
  for (int i = 0; i < processes; ++i) {
    const std::string path = str_cat(folder, "/", i, ".json");
    const auto text = files.read_file(path);
    EXPECT_TRUE(text.ok()) << text.status();
    const auto trace = parse_json(*text, path);
    EXPECT_TRUE(trace.ok()) << trace.status();
    int transfers = 0;
    for (const Json& event : (*trace)["traceEvents"]) {
      EXPECT_EQ(event["ph"], "X");
      EXPECT_EQ(event["pid"], i);
      EXPECT_FALSE(event["args"].contains("error"));
      transfers += event["name"] == "device_put";
      const double begin = event["ts"], length = event["dur"];
      spans[{event["name"], event["args"]["call"].get<int>()}] = {begin, begin + length};
    }
    const bool at_an_end = i == 0 || i == processes - 1;
    EXPECT_EQ(transfers, kMicrobatches * (at_an_end ? 1 : 2));
  }
  return spans;
}

class Pipeline : public ::testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Processes, Pipeline, ::testing::Values(std::pair(2, 2), std::pair(4, 1)),
                         [](const auto& info) {
                           return str_cat(info.param.first, "With", info.param.second);
                         });

// How often each stage works on a microbatch while the one before works on the next.
std::vector<int> overlaps(std::pair<int, int> layout, const std::string& one_by_one) {
  const auto [processes, devices] = layout;
  const TempFolder folder;
  for (const Ended& one :
       run_processes("run_pipeline",
                     {.processes = processes,
                     .devices = devices,
                     .environment = {{"TRACES", folder.path()}, {"ONE_BY_ONE", one_by_one}}})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    if (one.exit_code != 0) return {};
  }
  const auto spans = read_traces(folder.path(), processes);
  std::vector<int> counts;
  for (int stage = 0; stage + 1 < processes; ++stage) {
    counts.push_back(0);
    // The first call was before the recording.
    for (int call = 2; call <= kMicrobatches; ++call) {
      const Interval& next = spans.at({str_cat("stage", stage), call + 1});
      const Interval& own = spans.at({str_cat("stage", stage + 1), call});
      counts.back() += std::min(next.end, own.end) > std::max(next.begin, own.begin);
    }
  }
  return counts;
}

TEST_P(Pipeline, Spec16AStageWorksOnAMicrobatchWhileTheOneBeforeWorksOnTheNext) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto counts = overlaps(GetParam(), "");
  EXPECT_EQ(counts.size(), static_cast<size_t>(GetParam().first - 1));
  EXPECT_THAT(counts, ::testing::Each(::testing::Gt(0)));
}

// So the trace can tell.
TEST_P(Pipeline, OneMicrobatchAtATimeOverlapsNothing) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto counts = overlaps(GetParam(), "yes");
  EXPECT_EQ(counts.size(), static_cast<size_t>(GetParam().first - 1));
  EXPECT_THAT(counts, ::testing::Each(0));
}

}  // namespace
}  // namespace tessera::process_testing
