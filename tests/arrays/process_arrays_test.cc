// Arrays of one process and of all: there and back, on the host, and batches that are loaded in
// each of the four ways.

#include "tessera/runtime/process_arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/sharding/loading_plan.h"
#include "tests/arrays/member_runtime.h"

namespace tessera::process_testing {
namespace {

using ::testing::HasSubstr;

std::vector<int> all_places(const Runtime& runtime) {
  std::vector<int> places(runtime.client().devices().size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// Small numbers of any dtype, other ones at each place.
HostArray pattern(DType dtype, Dims dims) {
  HostArray value(Shape{dtype, std::move(dims)});
  for (size_t i = 0; i < value.bytes().size(); ++i)
    value.bytes()[i] = std::byte(dtype == DType::kBool ? i * i % 3 == 1 : i * 7 % 251);
  return value;
}

// A layout over the devices of this process alone.
NamedSharding own_layout(const Runtime& runtime, PartitionSpec spec) {
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : runtime.client().addressable_devices())
    ids.push_back(device.id());
  const auto count = static_cast<int64_t>(ids.size());
  return testing::sharded(*Mesh::create({{"own", count}}, std::move(ids)), std::move(spec));
}

// Local to global and back, for u8 and bool leaves, with as many devices a process as there are.
TESSERA_PROCESS_BODY(there_and_back) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto places = all_places(*runtime);
  const auto devices = static_cast<int64_t>(places.size());
  const auto sharding = over(*runtime, {{"x", devices}}, places, {{{"x"}}});
  const Dims dims = {4 * devices, 12};
  ASSIGN_OR_RETURN(const auto process_of, runtime->processes(sharding.mesh()));
  const int64_t before =
      std::ranges::count_if(process_of, [&](int64_t p) { return p < member.process(); });
  const int64_t own = std::ranges::count(process_of, int64_t{member.process()});
  for (const DType dtype : {DType::kU8, DType::kBool, DType::kBF16}) {
    const HostArray whole = pattern(dtype, dims);
    const HostArray rows = slice(whole, {{4 * before, 0}, {4 * own, 12}});
    for (const PartitionSpec& spec :
         {PartitionSpec{{{"own"}}}, PartitionSpec{{{}, {"own"}}}, PartitionSpec{}}) {
      const auto local_sharding = own_layout(*runtime, spec);
      ASSIGN_OR_RETURN(const Array local, Array::from_host(*runtime, rows, local_sharding));
      ASSIGN_OR_RETURN(const Array global,
                       process_local_to_global(*runtime, local, sharding, dims));
      RETURN_IF_ERROR(check_parts(global, whole));
      ASSIGN_OR_RETURN(const Array back, global_to_process_local(*runtime, global, local_sharding));
      ASSIGN_OR_RETURN(const HostArray read, back.to_host());
      if (!same_bits(read, rows)) return data_loss("came back as something else");
      ASSIGN_OR_RETURN(const Array same, process_local_to_global(*runtime, global, sharding));
      if (!same.same_as(global)) return internal_error("a global array was made anew");
      ASSIGN_OR_RETURN(const HostArray everything, gather_to_host(*runtime, global));
      if (!same_bits(everything, whole)) return data_loss("gathered something else");
    }
  }
  ASSIGN_OR_RETURN(const pjrt::Traffic traffic, runtime->client().traffic());
  member.say(
      "inferred: ",
      process_local_to_global(
          *runtime, *Array::from_host(*runtime, counted({4 * own, 1}), own_layout(*runtime, {})),
          sharding)
          .status()
          .ToString());
  ASSIGN_OR_RETURN(
      const Array everywhere,
      Array::from_host(*runtime, counted({4}), over(*runtime, {{"x", devices}}, places, {})));
  member.say("foreign: ",
             process_local_to_global(*runtime, everywhere, sharding).status().ToString());
  ASSIGN_OR_RETURN(const pjrt::Traffic after, runtime->client().traffic());
  if (after.bytes_sent != traffic.bytes_sent) return internal_error("something left the process");
  return member.meet("end");
}

class ThereAndBack : public ::testing::TestWithParam<std::vector<int>> {};
INSTANTIATE_TEST_SUITE_P(Processes, ThereAndBack,
                         ::testing::Values(std::vector<int>{2, 2}, std::vector<int>{1, 3},
                                           std::vector<int>{2, 2, 2, 2},
                                           std::vector<int>{1, 2, 1, 3}),
                         [](const auto& info) {
                           std::string name;
                           for (int devices : info.param) str_append(&name, "With", devices);
                           return name;
                         });

TEST_P(ThereAndBack, Spec10BetweenAProcesssArraysAndThoseOfAll) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const bool even =
      std::ranges::count(GetParam(), GetParam()[0]) == static_cast<int64_t>(GetParam().size());
  for (const Ended& one : run_processes(
           "there_and_back",
           {.processes = static_cast<int>(GetParam().size()), .devices_of = GetParam()})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr(even ? "inferred: OK" : "give them"));
    EXPECT_THAT(one.output, HasSubstr("devices of the process's own array only"));
  }
}

// Each process holds two parts that lie across: they are no array of its own.
TESSERA_PROCESS_BODY(parts_across) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto across = over(*runtime, {{"x", 2}, {"y", 2}}, {0, 2, 3, 1}, {{{"x"}, {"y"}}});
  ASSIGN_OR_RETURN(const Array global, Array::from_host(*runtime, counted({4, 4}), across));
  member.say(
      "across: ",
      global_to_process_local(*runtime, global, own_layout(*runtime, {})).status().ToString());
  ASSIGN_OR_RETURN(const HostArray everything, gather_to_host(*runtime, global));
  if (!same_bits(everything, counted({4, 4}))) return data_loss("gathered something else");
  return member.meet("end");
}

TEST(ProcessArrays, Spec10PartsThatLieAcrossAreRefusedNotMixedUp) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("parts_across", {.processes = 2, .devices = 2})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("no device holds all of part [0:4, 0:4]: of 16 elements 8"));
  }
}

// ---- batches

// A data set that counts what is read of it.
struct Source {
  HostArray data;
  int64_t elements_read = 0;
  HostArray read(const Box& box) {
    elements_read += box.elements();
    return slice(data, box);
  }
};

Result<Array> load(Runtime& runtime, LoadingStrategy strategy, const NamedSharding& sharding,
                   Source& source) {
  const Shape& shape = source.data.shape();
  ASSIGN_OR_RETURN(const auto process_of, runtime.processes(sharding.mesh()));
  ASSIGN_OR_RETURN(const auto boxes, boxes_to_read(strategy, sharding, shape.dims, process_of,
                                                   runtime.client().process_index()));
  std::vector<HostArray> parts;
  for (const Box& box : boxes) parts.push_back(source.read(box));
  switch (strategy) {
    case LoadingStrategy::kWhole:
      return Array::from_host(runtime, parts[0], sharding);
    case LoadingStrategy::kPerDevice: {
      ASSIGN_OR_RETURN(const auto devices, runtime.local_devices(sharding.mesh()));
      std::vector<pjrt::Buffer> buffers;
      for (size_t i = 0; i < devices.size(); ++i) {
        ASSIGN_OR_RETURN(pjrt::Buffer buffer,
                         runtime.client().to_device(parts[i], devices[i].device));
        buffers.push_back(std::move(buffer));
      }
      return Array::from_buffers(runtime, shape, sharding, std::move(buffers));
    }
    case LoadingStrategy::kPerProcess:
      return Array::from_shards(runtime, shape, sharding, [&](const Box& box) -> Result<HostArray> {
        const auto found = std::ranges::find(boxes, box);
        if (found == boxes.end()) return internal_error("nobody read ", to_string(box));
        return parts[found - boxes.begin()];
      });
    case LoadingStrategy::kEven: {
      ASSIGN_OR_RETURN(const NamedSharding even, even_sharding(sharding.mesh(), process_of));
      ASSIGN_OR_RETURN(const Array array,
                       Array::from_process_local(runtime, even, parts[0], shape.dims));
      return device_put(runtime, array, sharding);
    }
  }
  return internal_error("unknown strategy");
}

TESSERA_PROCESS_BODY(load_in_each_way) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto places = all_places(*runtime);
  const std::vector<NamedSharding> layouts = {
      over(*runtime, {{"x", 8}}, places, {{{"x"}}}),
      over(*runtime, {{"x", 8}}, places, {{{}, {"x"}}}),
      over(*runtime, {{"x", 2}, {"y", 4}}, {0, 1, 2, 3, 4, 5, 6, 7}, {{{"x"}}}),
      over(*runtime, {{"x", 4}, {"y", 2}}, {7, 2, 0, 5, 1, 3, 6, 4}, {{{"y"}, {"x"}}}),
      over(*runtime, {{"x", 8}}, places, {})};
  for (const NamedSharding& sharding : layouts) {
    for (const auto strategy : {LoadingStrategy::kWhole, LoadingStrategy::kPerDevice,
                                LoadingStrategy::kPerProcess, LoadingStrategy::kEven}) {
      Source source = {.data = pattern(DType::kS32, {16, 24})};
      const int64_t to_devices = runtime->metrics().bytes_to_devices;
      const auto batch = load(*runtime, strategy, sharding, source);
      const std::string what = str_cat(to_string(strategy), ", ", to_string(sharding));
      RETURN_IF_ERROR(annotate(batch.status(), what));
      // Element for element, on every device: replicas too.
      RETURN_IF_ERROR(annotate(check_parts(*batch, source.data), what));
      if (strategy != LoadingStrategy::kEven) continue;
      // A quarter each: together everything once; the rest came over the devices.
      const int64_t quarter = source.data.shape().elements() / 4;
      if (source.elements_read != quarter ||
          runtime->metrics().bytes_to_devices - to_devices != 4 * quarter) {
        return internal_error(what, ": read ", source.elements_read, ", put ",
                              runtime->metrics().bytes_to_devices - to_devices, " bytes");
      }
    }
  }
  return member.meet("end");
}

TEST(Batches, Spec22LoadedInEachOfTheFourWaysAreTheSame) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("load_in_each_way", {.processes = 4, .devices = 2}))
    EXPECT_EQ(one.exit_code, 0) << one.output;
}

// From a process's own data replicas inside it always get the same.
TESSERA_PROCESS_BODY(replicas_of_own_data) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto sharding = over(*runtime, {{"x", 4}, {"y", 2}}, {0, 1, 2, 3, 4, 5, 6, 7}, {{{"x"}}});
  const HostArray own = slice(pattern(DType::kU8, {8, 3}), {{2 * member.process(), 0}, {2, 3}});
  ASSIGN_OR_RETURN(const Array array, Array::from_process_local(*runtime, sharding, own));
  ASSIGN_OR_RETURN(const auto shards, array.addressable_shards());
  for (const Array::Shard& shard : shards) {
    ASSIGN_OR_RETURN(const HostArray part, shard.buffer->to_host());
    if (!same_bits(part, own)) return data_loss("a replica holds something else");
  }
  member.say("parts ", shards.size());
  return absl::OkStatus();
}

TEST(Batches, Spec23ReplicasInsideAProcessHoldTheSame) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("replicas_of_own_data", {.processes = 4, .devices = 2})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("parts 2"));
  }
}

}  // namespace
}  // namespace tessera::process_testing
