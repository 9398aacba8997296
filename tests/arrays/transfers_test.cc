// device_put between any two layouts over the devices of four processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tessera/sharding/testing.h"
#include "tessera/sharding/transfer_plan.h"
#include "tests/arrays/member_runtime.h"

namespace tessera::process_testing {
namespace {

using ::testing::HasSubstr;

bool takes_part(const TransferPlan& plan, int64_t process) {
  return std::ranges::count(plan.process_of, process) > 0;
}

// All processes draw the same layouts and values, and whether those without a device call.
TESSERA_PROCESS_BODY(put_by_chance) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto ids = all_ids(*runtime);
  const int64_t process = member.process();
  const auto process_of = [&](int64_t id) {
    return int64_t{runtime->client().device(static_cast<int>(id))->process_index()};
  };
  std::mt19937 random(5);
  int between = 0, skipped = 0;
  for (int i = 0; i < 34; ++i) {
    const DType dtype = all_dtypes()[i % all_dtypes().size()];
    const Dims dims = testing::random_dims(random);
    const auto from = testing::random_sharding(random, ids, dims);
    const auto to = testing::random_sharding(random, ids, dims);
    const HostArray value = testing::random_bits({dtype, dims}, random);
    const std::string what =
        str_cat(to_string(value.shape()), " ", to_string(from), " to ", to_string(to));
    ASSIGN_OR_RETURN(const Array array, Array::from_host(*runtime, value, from));
    ASSIGN_OR_RETURN(const TransferPlan plan,
                     plan_transfer(holdings(from, dims), holdings(to, dims), process_of));
    ASSIGN_OR_RETURN(const pjrt::Traffic before, runtime->client().traffic());
    const bool only_members = random() % 2 == 0;
    if (only_members && !takes_part(plan, process)) {
      ++skipped;
    } else {
      const auto moved = device_put(*runtime, array, to);
      RETURN_IF_ERROR(annotate(moved.status(), what));
      RETURN_IF_ERROR(annotate(moved->await(), what));
      RETURN_IF_ERROR(annotate(check_parts(*moved, value), what));
      RETURN_IF_ERROR(annotate(check_parts(array, value), what));  // the source is still there
      if (moved->shape() != value.shape() || !(moved->sharding() == to))
        return internal_error(what, ": became ", describe(moved->shape(), moved->sharding()));
    }
    // Who only sends has nothing to wait for: what all have got, all have sent.
    RETURN_IF_ERROR(member.meet(str_cat("put ", i)));
    ASSIGN_OR_RETURN(const pjrt::Traffic after, runtime->client().traffic());
    const auto sent = static_cast<int64_t>(after.bytes_sent - before.bytes_sent);
    const int64_t planned =
        plan.elements_to_other_processes(process) * dtype_host_bytes(dtype);  // of four bits too
    if (sent != planned) return internal_error(what, ": sent ", sent, " bytes, planned ", planned);
    between += planned > 0;
  }
  member.say("sent in ", between, " and left out ", skipped);
  return member.meet("end");
}

TEST(Transfers, Spec15BetweenAnyTwoLayoutsAreExactAndSendWhatIsPlanned) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes(
           "put_by_chance", {.processes = 4, .devices = 2, .longest = absl::Minutes(5)})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, ::testing::Not(HasSubstr("sent in 0 ")));
  }
}

// The sender goes on before the receiver has even called.
TESSERA_PROCESS_BODY(put_without_waiting) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const HostArray value = counted({8, 3});
  const auto from = over(*runtime, {{"x", 2}}, {0, 1}, {{{"x"}}});
  const auto to = over(*runtime, {{"x", 2}}, {2, 3}, {{{}, {}}});
  ASSIGN_OR_RETURN(const Array array, Array::from_host(*runtime, value, from));
  if (member.process() == 1) RETURN_IF_ERROR(member.meet("the sender has called"));
  ASSIGN_OR_RETURN(const Array moved, device_put(*runtime, array, to));
  if (member.process() == 0) RETURN_IF_ERROR(member.meet("the sender has called"));
  RETURN_IF_ERROR(moved.await());
  RETURN_IF_ERROR(check_parts(moved, value));
  return member.meet("end");
}

TEST(Transfers, Spec15DoNotWaitForValues) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("put_without_waiting", {.processes = 2, .devices = 2}))
    EXPECT_EQ(one.exit_code, 0) << one.output;
}

// What does not fit is said by every caller, and nothing waits: afterwards all still work together.
TESSERA_PROCESS_BODY(put_what_does_not_fit) {
  ASSIGN_OR_RETURN(const auto runtime, runtime_of(member));
  const auto from = over(*runtime, {{"x", 4}}, {0, 1, 2, 3}, {{{"x"}}});
  const auto to = over(*runtime, {{"x", 3}}, {4, 5, 6}, {{{"x"}}});
  ASSIGN_OR_RETURN(const Array array, Array::from_host(*runtime, counted({8}), from));
  member.say("shape: ", device_put(*runtime, array, to).status().ToString());
  const auto nowhere = testing::sharded(*Mesh::create({{"x", 1}}, std::vector<int64_t>{99}), {});
  member.say("device: ", device_put(*runtime, array, nowhere).status().ToString());
  if (member.process() < 2) {
    const Array hollow = Array::from_pieces(array.shape(), from, {});
    member.say("parts: ", device_put(*runtime, hollow, to).status().ToString());
  }
  const auto fits = over(*runtime, {{"x", 4}}, {4, 5, 6, 7}, {{{"x"}}});
  ASSIGN_OR_RETURN(const Array moved, device_put(*runtime, array, fits));
  RETURN_IF_ERROR(moved.await());
  RETURN_IF_ERROR(check_parts(moved, counted({8})));
  return member.meet("end");
}

TEST(Transfers, Spec15AMismatchIsAnErrorOfAllCallersAtOnce) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("put_what_does_not_fit", {.processes = 4, .devices = 2});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output,
                HasSubstr("shape: INVALID_ARGUMENT: dimension 0 of f32[8] has size 8, which is not "
                          "divisible by 3"));
    EXPECT_THAT(all[i].output, HasSubstr("no device has id 99"));
  }
}

}  // namespace
}  // namespace tessera::process_testing
