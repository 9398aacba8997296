// What all processes should hold alike: host values that are put, and replicas on devices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/runtime/replica_check.h"
#include "tests/arrays/member_runtime.h"

namespace tessera::process_testing {
namespace {

using ::testing::HasSubstr;

const std::vector<int> kAll = {0, 1, 2, 3, 4, 5, 6, 7};

TESSERA_PROCESS_BODY(put_checked) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  coord::Exchange exchange(member.coordinator(), {.timeout = absl::Seconds(60)});
  const auto compare = gather_through(exchange);
  const auto everywhere = over(*runtime, {{"x", 8}}, kAll, {});
  HostArray value = counted({4, 2});
  ASSIGN_OR_RETURN(const Array array, Array::from_host(*runtime, value, everywhere, compare));
  RETURN_IF_ERROR(check_parts(array, value));
  if (member.process() == 2) value.as<float>()[7] = 70;
  const auto unequal = Array::from_host(*runtime, value, everywhere, compare);
  member.say("value: ", unequal.status().ToString());
  const HostArray other = counted({4, member.process() == 1 ? 3 : 2});
  const auto shapes = Array::from_host(*runtime, other, everywhere, compare);
  member.say("shape: ", shapes.status().ToString());
  // Unchecked, it is nobody's business.
  return Array::from_host(*runtime, value, everywhere).status();
}

TEST(EqualValues, Spec18UnequalHostDataIsAnErrorOfEveryProcess) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("put_checked", {.processes = 4, .devices = 2})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output,
                HasSubstr("value: INVALID_ARGUMENT: the value put as f32[4,2] sharded"));
    EXPECT_THAT(one.output, HasSubstr("is not the same on each process"));
    EXPECT_THAT(one.output, HasSubstr("processes 0, 1, 3: f32[4,2] of hash"));
    EXPECT_THAT(one.output, HasSubstr("process 2: f32[4,2] of hash"));
    EXPECT_THAT(one.output, HasSubstr("process 1: f32[4,3] of hash"));
  }
}

// One process never comes: the others are told who, within the timeout.
TESSERA_PROCESS_BODY(put_checked_without_one) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  coord::Exchange exchange(member.coordinator(), {.timeout = absl::Seconds(2)});
  const auto everywhere = over(*runtime, {{"x", 8}}, kAll, {});
  if (member.process() != 3) {
    const auto put = Array::from_host(*runtime, counted({2}), everywhere, gather_through(exchange));
    member.say("got ", put.status().ToString());
  }
  return member.meet("end");
}

TEST(EqualValues, Spec18OneThatDoesNotComeIsNamed) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("put_checked_without_one", {.processes = 4, .devices = 2});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    if (i == 3) continue;
    EXPECT_THAT(all[i].output, HasSubstr("got DEADLINE_EXCEEDED"));
    EXPECT_THAT(all[i].output, HasSubstr("3"));
  }
}

TESSERA_PROCESS_BODY(break_a_replica) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  coord::Exchange exchange(member.coordinator());
  const auto compare = gather_through(exchange);
  const HostArray whole = counted({4, 4});
  // Rows over "x", copies along "y": device places 0..3 hold the first half, 4..7 the second.
  const auto sharding = over(*runtime, {{"x", 2}, {"y", 4}}, kAll, {{{"x"}}});
  ASSIGN_OR_RETURN(Array good, Array::from_host(*runtime, whole, sharding));
  // The same with one bit of the part on the last device of process 1 turned.
  std::vector<pjrt::Buffer> buffers;
  for (const Array::Piece& piece : good.pieces()) {
    HostArray part = slice(whole, sharding.shard_box(whole.shape().dims, piece.position));
    if (piece.position == 3) part.bytes()[9] ^= std::byte{1};
    ASSIGN_OR_RETURN(const pjrt::Device device, piece.buffer.device());
    ASSIGN_OR_RETURN(pjrt::Buffer buffer, runtime->client().to_device(part, device));
    buffers.push_back(std::move(buffer));
  }
  ASSIGN_OR_RETURN(Array bad,
                   Array::from_buffers(*runtime, whole.shape(), sharding, std::move(buffers)));
  ASSIGN_OR_RETURN(Array split, Array::from_host(*runtime, counted({8}),
                                                 over(*runtime, {{"x", 8}}, kAll, {{{"x"}}})));
  Tree<Array> arrays;
  RETURN_IF_ERROR(arrays.add("params.split", split));
  RETURN_IF_ERROR(arrays.add("params.good", good));
  RETURN_IF_ERROR(check_replicas(arrays, compare));
  RETURN_IF_ERROR(arrays.add("params.bad", bad));
  member.say("got ", check_replicas(arrays, compare).ToString());
  return absl::OkStatus();
}

TEST(Replicas, Spec2ThatDifferAreNamedByPathPartAndDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("break_a_replica", {.processes = 4, .devices = 2})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("got DATA_LOSS: replicas differ: 'params.bad' [0:2, 0:4]: "
                                      "device 2049 holds another value than devices 0, 1, 2048"));
  }
}

// Where one process cannot take part, the others know at once and do not wait.
TESSERA_PROCESS_BODY(compare_what_differs) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  coord::Exchange exchange(member.coordinator(), {.timeout = absl::Seconds(60)});
  const auto compare = gather_through(exchange);
  const auto everywhere = over(*runtime, {{"x", 2}}, {0, 1}, {});
  ASSIGN_OR_RETURN(Array array, Array::from_host(*runtime, counted({4}), everywhere));
  Tree<Array> named;
  RETURN_IF_ERROR(named.add(member.process() == 0 ? "a" : "b", array));
  member.say("names: ", check_replicas(named, compare).ToString());
  Tree<Array> tree;
  RETURN_IF_ERROR(tree.add("a", array));
  if (member.process() == 0) array.remove();
  member.say("removed: ", check_replicas(tree, compare).ToString());
  return member.meet("end");
}

TEST(Replicas, Spec2AProcessThatCannotCompareIsNamed) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("compare_what_differs", {.processes = 2});
  for (const Ended& one : all) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, HasSubstr("names: INVALID_ARGUMENT: replicas cannot be checked"));
  }
  EXPECT_THAT(all[0].output, HasSubstr("removed: FAILED_PRECONDITION: 'a': array f32[4] was"));
  EXPECT_THAT(all[1].output, HasSubstr("removed: FAILED_PRECONDITION: replicas cannot be checked: "
                                       "process 0: 'a': array f32[4] was removed"));
}

}  // namespace
}  // namespace tessera::process_testing
