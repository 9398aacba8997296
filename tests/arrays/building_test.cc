// Making arrays over 4 processes of 2 devices, reading them, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/ops/elementwise_binary.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/process_arrays.h"
#include "tests/arrays/member_runtime.h"

namespace tessera::process_testing {
namespace {

using ::testing::HasSubstr;

const std::vector<int> kAll = {0, 1, 2, 3, 4, 5, 6, 7};
const RunOptions kFourByTwo = {.processes = 4, .devices = 2};

// What each process must have said, besides ending well.
void expect_all_say(const std::vector<Ended>& all, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << "process " << i << ": " << all[i].output;
    for (const std::string& line : lines) EXPECT_THAT(all[i].output, HasSubstr(line));
  }
}

TESSERA_PROCESS_BODY(build_from_callback) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const HostArray whole = counted({8, 4});
  int calls = 0;
  const auto source = [&](const Box& box) -> Result<HostArray> {
    ++calls;
    return slice(whole, box);
  };
  const auto build = [&](NamedSharding sharding) -> Status {
    calls = 0;
    ASSIGN_OR_RETURN(const Array array,
                     Array::from_shards(*runtime, whole.shape(), sharding, source));
    RETURN_IF_ERROR(check_parts(array, whole));
    member.say(to_string(sharding), ": ", calls, " calls for ", array.pieces().size(), " parts");
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(build(over(*runtime, {{"x", 8}}, kAll, {{{"x"}}})));
  RETURN_IF_ERROR(build(over(*runtime, {{"x", 8}}, kAll, {})));
  RETURN_IF_ERROR(build(over(*runtime, {{"x", 4}, {"y", 2}}, kAll, {{{"x"}}})));
  const auto split = over(*runtime, {{"x", 8}}, kAll, {{{"x"}}});
  const auto wrong = [&](HostArray value) {
    return Array::from_shards(*runtime, whole.shape(), split,
                              [&](const Box&) -> Result<HostArray> { return value; })
        .status()
        .ToString();
  };
  member.say(wrong(counted({2, 4})));
  member.say(wrong(HostArray(Shape{DType::kS32, {1, 4}})));
  return absl::OkStatus();
}

TEST(BuildingArrays, Spec17ACallbackIsCalledOnceAPartThatTheProcessHolds) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all_say(run_processes("build_from_callback", kFourByTwo),
                 {"[x] over x=8: 2 calls for 2 parts", "[] over x=8: 1 calls for 2 parts",
                  "[x] over x=4, y=2: 1 calls for 2 parts", "must be f32[1,4], got f32[2,4]",
                  "must be f32[1,4], got s32[1,4]"});
}

TESSERA_PROCESS_BODY(build_from_buffers) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const Shape shape{DType::kF32, {16, 3}};
  const auto sharding = over(*runtime, {{"x", 8}}, kAll, {{{"x"}}});
  const auto own = runtime->client().addressable_devices();
  const auto build = [&](std::vector<int> devices, const HostArray& part,
                         const NamedSharding& to) -> Result<Array> {
    std::vector<pjrt::Buffer> buffers;
    for (int device : devices) {
      ASSIGN_OR_RETURN(pjrt::Buffer buffer, runtime->client().to_device(part, own[device]));
      buffers.push_back(std::move(buffer));
    }
    return Array::from_buffers(*runtime, shape, to, std::move(buffers));
  };
  const HostArray part = counted({2, 3});
  ASSIGN_OR_RETURN(const Array array, build({1, 0}, part, sharding));  // in any order
  for (const Array::Piece& piece : array.pieces()) {
    ASSIGN_OR_RETURN(const pjrt::Device device, piece.buffer.device());
    if (device.id() != sharding.mesh().device_ids()[piece.position])
      return internal_error("a part stands on the wrong device");
  }
  const auto refused = [&](const std::string& what, std::vector<int> devices,
                           const HostArray& value) {
    member.say(what, ": ", build(std::move(devices), value, sharding).status().ToString());
  };
  refused("count", {0}, part);
  refused("none", {}, part);
  refused("twice", {1, 1}, part);
  refused("shape", {0, 1}, counted({3, 2}));
  refused("dtype", {0, 1}, HostArray(Shape{DType::kBF16, {2, 3}}));
  // A mesh with the second device of each process alone.
  const auto second = over(*runtime, {{"x", 4}}, {1, 3, 5, 7}, {{{"x"}}});
  member.say("set: ", build({0}, counted({4, 3}), second).status().ToString());
  return absl::OkStatus();
}

TEST(BuildingArrays, Spec17SingleDeviceBuffersAreOneADeviceInAnyOrder) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("build_from_buffers", kFourByTwo);
  for (int i = 0; i < 4; ++i) {
    const int first = 2048 * i, second = first + 1;
    const std::string& output = all[i].output;
    EXPECT_EQ(all[i].exit_code, 0) << output;
    EXPECT_THAT(output, HasSubstr(str_cat("count: INVALID_ARGUMENT: the buffers are not on the "
                                          "devices of the layout: got 1, required one on each of "
                                          "2; no buffer is on devices ",
                                          second)));
    EXPECT_THAT(output, HasSubstr(str_cat("got 0, required one on each of 2; no buffer is on "
                                          "devices ",
                                          first, ", ", second)));
    EXPECT_THAT(output,
                HasSubstr(str_cat("twice: INVALID_ARGUMENT: two buffers are on device ", second)));
    EXPECT_THAT(output, HasSubstr("is f32[3,2], but its part of f32[16,3] sharded [x,_] is "
                                  "f32[2,3]"));
    EXPECT_THAT(output, HasSubstr("is bf16[2,3], but its part of f32[16,3] sharded [x,_] is "
                                  "f32[2,3]"));
    // Both differences.
    EXPECT_THAT(output,
                HasSubstr(str_cat("no buffer is on devices ", second, "; the mesh has no devices ",
                                  first, " of this process")));
  }
}

TESSERA_PROCESS_BODY(build_from_own_data) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  // Process p holds device 2p and 2p + 1; along "x" process pairs share, along "y" they cross.
  const auto crossing =
      over(*runtime, {{"x", 4}, {"y", 2}}, {0, 2, 4, 1, 6, 3, 5, 7}, {{{"x"}, {"y"}}});
  const auto without = Array::from_process_local(*runtime, crossing, counted({4, 4}));
  member.say("crossing: ", without.status().ToString());
  const HostArray whole = counted({8, 4});
  ASSIGN_OR_RETURN(const Array array,
                   Array::from_process_local(*runtime, crossing, whole, Dims{8, 4}));
  RETURN_IF_ERROR(check_parts(array, whole));
  const auto rows = over(*runtime, {{"x", 8}}, kAll, {{{"x"}}});
  ASSIGN_OR_RETURN(
      const Array of_rows,
      Array::from_process_local(*runtime, rows, slice(whole, {{2 * member.process(), 0}, {2, 4}})));
  RETURN_IF_ERROR(check_parts(of_rows, whole));
  member.say("inferred ", to_string(of_rows.shape()));
  member.say(
      "neither: ",
      Array::from_process_local(*runtime, rows, counted({3, 4}), Dims{8, 4}).status().ToString());
  return absl::OkStatus();
}

TEST(BuildingArrays, Spec17OfTheProcessesOwnDataCrossingOnesNeedTheGlobalShape) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all_say(run_processes("build_from_own_data", kFourByTwo),
                 {"what the tensor's dimensions are does not follow from one process's data; give "
                  "them",
                  "inferred f32[8,4]",
                  "dimension 0 of the process's data [3,4] must be 2, which is what its devices "
                  "hold of [8,4]"});
}

// x + x over the mesh of `sharding`.
Result<CompiledFunction> doubling(Runtime& runtime, const Shape& shape,
                                  const NamedSharding& sharding) {
  const std::vector<NamedShape> parameters = {{"x", shape}};
  ASSIGN_OR_RETURN(const auto graph,
                   trace(parameters, [](Graph&, std::span<const Value> p) -> std::vector<Value> {
                     return {p[0] + p[0]};
                   }));
  return jit(runtime, *graph,
             {.name = "double",
              .mesh = sharding.mesh(),
              .rules = {{"rows", {"x"}}},
              .arguments = {{"x", {"rows", ""}}},
              .results = {{"y", {"rows", ""}}}});
}

TESSERA_PROCESS_BODY(compute_on_some) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const HostArray whole = counted({6, 2});
  const auto sharding = over(*runtime, {{"x", 3}}, {2, 3, 4}, {{{"x"}}});  // of processes 1 and 2
  ASSIGN_OR_RETURN(const Array x, Array::from_host(*runtime, whole, sharding));
  member.say("x is ", to_string(x.shape()), ", ", x.addressable_shards()->size(), " parts");
  ASSIGN_OR_RETURN(const CompiledFunction twice, doubling(*runtime, whole.shape(), sharding));
  ASSIGN_OR_RETURN(const auto results, twice({&x, 1}));
  RETURN_IF_ERROR(results[0].await());
  HostArray expected(whole.shape());
  for (size_t i = 0; i < 12; ++i) expected.as<float>()[i] = 2.0f * static_cast<float>(i);
  RETURN_IF_ERROR(check_parts(results[0], expected));
  member.say("y is ", describe(results[0].shape(), results[0].sharding()), ", ",
             results[0].addressable_shards()->size(), " parts; runs here: ", twice.runs_here(),
             ", compiled ", runtime->metrics().compilations, ", launched ",
             runtime->metrics().dispatches);
  // All get it, also those that had nothing.
  ASSIGN_OR_RETURN(const HostArray y, gather_to_host(*runtime, results[0]));
  if (!same_bits(y, expected)) return data_loss("gathered something else");
  return member.meet("end");
}

TEST(BuildingArrays, Spec14AProcessOutsideTheMeshHasAnArrayWithoutPartsAndRunsNothing) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("compute_on_some", kFourByTwo);
  const int parts[] = {0, 2, 1, 0};
  for (int i = 0; i < 4; ++i) {
    const bool member = parts[i] > 0;
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output, HasSubstr(str_cat("x is f32[6,2], ", parts[i], " parts\n")));
    EXPECT_THAT(all[i].output,
                HasSubstr(str_cat("y is f32[6,2] sharded [x,_], ", parts[i],
                                  " parts; runs here: ", member ? 1 : 0, ", compiled ",
                                  member ? 1 : 0, ", launched ", member ? 1 : 0)));
  }
}

TESSERA_PROCESS_BODY(read_on_host) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const HostArray whole = counted({8, 2});
  const auto split = over(*runtime, {{"x", 8}}, kAll, {{{"x"}}});
  ASSIGN_OR_RETURN(const Array array, Array::from_host(*runtime, whole, split));
  const int64_t before = runtime->metrics().dispatches;
  member.say("split: ", array.to_host().status().ToString());
  ASSIGN_OR_RETURN(const pjrt::Traffic traffic, runtime->client().traffic());
  RETURN_IF_ERROR(check_parts(array, whole));  // what is here needs nobody
  ASSIGN_OR_RETURN(const pjrt::Traffic after, runtime->client().traffic());
  if (after.operations != traffic.operations || runtime->metrics().dispatches != before)
    return internal_error("reading own parts ran something");
  ASSIGN_OR_RETURN(const Array everywhere,
                   device_put(*runtime, array, NamedSharding::replicated(split.mesh())));
  ASSIGN_OR_RETURN(const HostArray value, everywhere.to_host());
  if (!same_bits(value, whole)) return data_loss("read something else");
  // Whole on devices of process 0 alone.
  ASSIGN_OR_RETURN(const Array of_one,
                   Array::from_host(*runtime, whole, over(*runtime, {{"x", 2}}, {0, 1}, {})));
  member.say("of one: ", of_one.to_host().status().ToString());
  return member.meet("end");
}

TEST(BuildingArrays, Spec19ReadingWhatIsElsewhereIsAnErrorWithAdvice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("read_on_host", kFourByTwo);
  expect_all_say(all, {"split: FAILED_PRECONDITION: array f32[8,2] sharded [x,_] has parts on "
                       "devices of other processes; call gather_to_host() in all processes, or "
                       "read what is here: addressable_shards()"});
  EXPECT_THAT(all[0].output, HasSubstr("of one: OK"));
  EXPECT_THAT(all[3].output, HasSubstr("has parts on devices of other processes and none here"));
}

}  // namespace
}  // namespace tessera::process_testing
