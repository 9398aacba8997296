// What a block's end tells those that live, whatever became of the others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "absl/strings/str_join.h"
#include "tessera/live/live_devices.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/programs.h"

namespace tessera::process_testing {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Ids = std::span<const int64_t>;

// Makes a name for the first start of each process only.
bool is_first_start(Member& member) {
  return member.coordinator().insert(str_cat("started ", member.process()), "").ok();
}

// Waits until some process has said so.
Status await_word(Member& member, const std::string& word) {
  return member.coordinator().get(word, absl::Minutes(1)).status();
}

// A sum over these devices, of which one of this process is: "OK" or what went wrong.
Status sum_over(Runtime& runtime, Ids ids, int64_t width = 4) {
  const auto count = static_cast<int64_t>(ids.size());
  ASSIGN_OR_RETURN(const Mesh mesh,
                   Mesh::create({{"x", count}}, std::vector(ids.begin(), ids.end())));
  ASSIGN_OR_RETURN(const CompiledFunction sum, sum_rows(runtime, mesh, "sum", width));
  ASSIGN_OR_RETURN(const Array x, ones(runtime, sum));
  return run(sum, x);
}

// Says what a block ended with, and gives it.
Status say(Member& member, const std::string& block, const Status& status, Ids ids) {
  member.say(block, " over ", absl::StrJoin(ids, " "), ": ",
             failed_devices(status).empty()
                 ? status.ToString()
                 : str_cat("lost ", absl::StrJoin(failed_devices(status), " ")));
  return status;
}

// A block named `name` that does `what`, and says what it ended with.
Status block(Member& member, LiveDevices& live, const std::string& name,
             const LiveDevices::Body& what) {
  std::vector<int64_t> ids;
  const Status status = live.run([&](Ids devices) {
    ids.assign(devices.begin(), devices.end());
    return what(devices);
  });
  return say(member, name, status, ids);
}

// ---- deaths and returns

TESSERA_PROCESS_BODY(die_and_return_within_a_block) {
  const bool first = is_first_start(member);
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  ASSIGN_OR_RETURN(const auto live,
                   LiveDevices::create(*runtime, member.coordinator(), member.watch()));
  if (first) {
    const Status failed = block(member, *live, "first", [&](Ids) {
      member.say("in the block");
      return await_word(member, "is back");
    });
    if (failed_devices(failed).empty()) return internal_error("nothing failed");
  } else {
    RETURN_IF_ERROR(member.coordinator().insert("is back", ""));
  }
  RETURN_IF_ERROR(block(member, *live, "second", [&](Ids ids) { return sum_over(*runtime, ids); }));
  // That programs differ is noticed after a return too.
  const Status differ = block(member, *live, "third", [&](Ids ids) {
    return sum_over(*runtime, ids, member.process() == 1 ? 4 : 400);
  });
  return differ.ok() ? internal_error("nobody noticed") : absl::OkStatus();
}

TEST(Blocks, Spec34AProcessThatIsKilledAndStartedAgainWithinOneHasFailedIt) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes("die_and_return_within_a_block", {.processes = 3, .recoverable = true});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(processes.says(i, "in the block"));
  processes.signal(1, SIGKILL);
  EXPECT_EQ(processes.wait(1).exit_code, 128 + SIGKILL);
  processes.start_again(1);
  const auto all = processes.wait();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    if (i != 1) {
      EXPECT_THAT(all[i].output, HasSubstr("first over 0 2048 4096: lost 2048\n"));
    }
    EXPECT_THAT(all[i].output, HasSubstr("second over 0 2048 4096: OK\n"));
    EXPECT_THAT(all[i].output, AllOf(HasSubstr("third over 0 2048 4096: FAILED_PRECONDITION"),
                                     HasSubstr("processes launch different programs")));
  }
}

TESSERA_PROCESS_BODY(come_within_a_block) {
  const bool first = is_first_start(member);
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  ASSIGN_OR_RETURN(const auto live,
                   LiveDevices::create(*runtime, member.coordinator(), member.watch()));
  if (first) {
    const Status failed = block(member, *live, "first", [&](Ids ids) {
      if (member.process() == 2) raise(SIGKILL);
      return sum_over(*runtime, ids);
    });
    if (failed_devices(failed).empty()) return internal_error("nothing failed");
    RETURN_IF_ERROR(block(member, *live, "second", [&](Ids ids) -> Status {
      RETURN_IF_ERROR(sum_over(*runtime, ids));
      member.say("without it");
      RETURN_IF_ERROR(await_word(member, "has come"));
      return sum_over(*runtime, ids);
    }));
  } else {
    RETURN_IF_ERROR(member.coordinator().insert("has come", ""));
  }
  return block(member, *live, "third", [&](Ids ids) { return sum_over(*runtime, ids); });
}

TEST(Blocks, Spec34And32AProcessThatComesDoesNotFailOneAndIsInTheNext) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes("come_within_a_block",
                      {.processes = 3, .recoverable = true, .heartbeat_timeout = absl::Seconds(6)});
  for (int i : {0, 1}) ASSERT_TRUE(processes.says(i, "without it")) << processes.output(i);
  EXPECT_EQ(processes.wait(2).exit_code, 128 + SIGKILL);
  processes.start_again(2);
  const auto all = processes.wait();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output, HasSubstr("third over 0 2048 4096: OK\n"));
    if (i == 2) continue;
    EXPECT_THAT(all[i].output, HasSubstr("first over 0 2048 4096: lost 4096\n"));
    EXPECT_THAT(all[i].output, HasSubstr("second over 0 2048: OK\n"));
  }
}

TESSERA_PROCESS_BODY(work_until_one_is_lost) {
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  ASSIGN_OR_RETURN(const auto live,
                   LiveDevices::create(*runtime, member.coordinator(), member.watch()));
  Status status;
  std::vector<int64_t> seen;
  for (int i = 0; status.ok(); ++i) {
    status = live->run([&](Ids ids) {
      seen.assign(ids.begin(), ids.end());
      return sum_over(*runtime, ids);
    });
    if (i == 5) member.say("at work");
  }
  say(member, "at last", status, seen).IgnoreError();
  if (failed_devices(status).empty()) return status;
  RETURN_IF_ERROR(block(member, *live, "then", [&](Ids ids) { return sum_over(*runtime, ids); }));
  return await_word(member, "the end");
}

// Nothing but the coordinator can tell: its connections stay open.
TEST(Blocks, Spec34And32OneThatWasStoppedForTooLongIsLostAndFenced) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  Processes processes("work_until_one_is_lost",
                      {.processes = 3, .recoverable = true, .heartbeat_timeout = absl::Seconds(6)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(processes.says(i, "at work")) << processes.output(i);
  processes.signal(1, SIGSTOP);
  for (int i : {0, 2}) {
    ASSERT_TRUE(processes.says(i, "at last over 0 2048 4096: lost 2048\n")) << processes.output(i);
    ASSERT_TRUE(processes.says(i, "then over 0 4096: OK\n")) << processes.output(i);
  }
  processes.signal(1, SIGCONT);
  const Ended zombie = processes.wait(1);
  EXPECT_EQ(zombie.exit_code, 3);
  EXPECT_THAT(zombie.output, AllOf(HasSubstr("FAILED_PRECONDITION"),
                                   HasSubstr("is not connected: no heartbeat came for 6s"),
                                   Not(HasSubstr("lost"))));
}

// ---- errors of one process's own

TESSERA_PROCESS_BODY(fail_in_turn) {
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  ASSIGN_OR_RETURN(const auto live,
                   LiveDevices::create(*runtime, member.coordinator(), member.watch()));
  for (int i = 0; i < 6; ++i) {
    const Status failed = block(member, *live, str_cat("block ", i), [&](Ids ids) -> Status {
      const bool own = member.process() == i % 3;
      // Before the others have launched anything with it, and after.
      if (own && i < 3) return absl::ResourceExhaustedError(str_cat("no memory ", i));
      RETURN_IF_ERROR(sum_over(*runtime, ids));
      if (own) return absl::ResourceExhaustedError(str_cat("no memory ", i));
      return sum_over(*runtime, ids);
    });
    if (failed.code() != absl::StatusCode::kResourceExhausted) return failed;
    RETURN_IF_ERROR(block(member, *live, str_cat("after ", i),
                          [&](Ids ids) { return sum_over(*runtime, ids); }));
  }
  RETURN_IF_ERROR(member.meet("end"));
  ASSIGN_OR_RETURN(const auto left, member.coordinator().list("live_devices/"));
  member.say("keys left: ", left.size());
  return absl::OkStatus();
}

TEST(Blocks, Spec3BeyondAnErrorOfOneProcessIsThatOfAllAndKeepsNobodyWaiting) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one :
       run_processes("fail_in_turn", {.processes = 3, .devices = 2, .recoverable = true})) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    for (int i = 0; i < 6; ++i) {
      EXPECT_THAT(one.output,
                  HasSubstr(str_cat("block ", i, " over 0 1 2048 2049 4096 4097: ",
                                    "RESOURCE_EXHAUSTED: process ", i % 3, ": no memory ", i)));
    }
    EXPECT_THAT(one.output, HasSubstr("keys left: 0"));
  }
}

TESSERA_PROCESS_BODY(fail_alone) {
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  ASSIGN_OR_RETURN(const auto live, LiveDevices::create(*runtime, member.coordinator(),
                                                        member.watch(), {.share_errors = false}));
  block(member, *live, "first", [&](Ids) -> Status {
    if (member.process() == 1) return absl::ResourceExhaustedError("no memory");
    return absl::OkStatus();
  }).IgnoreError();
  return block(member, *live, "second", [&](Ids ids) { return sum_over(*runtime, ids); });
}

TEST(Blocks, AnErrorThatIsNotSharedIsThatOfOneProcess) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("fail_alone", {.processes = 2, .recoverable = true});
  EXPECT_THAT(all[0].output, HasSubstr("first over 0 2048: OK"));
  EXPECT_THAT(all[1].output, HasSubstr("first over 0 2048: RESOURCE_EXHAUSTED: no memory"));
  for (const Ended& one : all) EXPECT_THAT(one.output, HasSubstr("second over 0 2048: OK"));
}

// ---- groups

TESSERA_PROCESS_BODY(work_in_two_groups) {
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  const bool upper = member.process() >= 2;
  const std::vector<int64_t> own =
      upper ? std::vector<int64_t>{6144, 4096} : std::vector<int64_t>{0, 2048};
  ASSIGN_OR_RETURN(const auto live, LiveDevices::create(*runtime, member.coordinator(),
                                                        member.watch(), {.devices = own}));
  const auto work = [&](Ids ids) { return sum_over(*runtime, ids); };
  for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(block(member, *live, str_cat("block ", i), work));
  if (upper) {
    const Status lost = block(member, *live, "loses one", [&](Ids ids) {
      if (member.process() == 3) raise(SIGKILL);
      return work(ids);
    });
    if (failed_devices(lost).empty()) return internal_error("nothing failed");
    member.coordinator().insert("has lost one", "").IgnoreError();
  } else {
    RETURN_IF_ERROR(block(member, *live, "meanwhile", [&](Ids ids) -> Status {
      RETURN_IF_ERROR(work(ids));
      RETURN_IF_ERROR(await_word(member, "has lost one"));
      return work(ids);
    }));
  }
  return block(member, *live, "last", work);
}

TEST(Blocks, Spec3BeyondGroupsHaveTheirOwn) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all =
      run_processes("work_in_two_groups",
                    {.processes = 4, .recoverable = true, .heartbeat_timeout = absl::Seconds(6)});
  for (int i : {0, 1, 2}) EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
  EXPECT_EQ(all[3].exit_code, 128 + SIGKILL);
  for (int i : {0, 1}) {
    EXPECT_THAT(all[i].output, HasSubstr("meanwhile over 0 2048: OK"));
    EXPECT_THAT(all[i].output, HasSubstr("last over 0 2048: OK"));
  }
  EXPECT_THAT(all[2].output, HasSubstr("loses one over 4096 6144: lost 6144"));
  EXPECT_THAT(all[2].output, HasSubstr("last over 4096: OK"));
}

// ---- what cannot be

TESSERA_PROCESS_BODY(ask_for_what_cannot_be) {
  ASSIGN_OR_RETURN(const auto runtime, make_runtime(member));
  const auto with = [&](Runtime& own, std::vector<int64_t> devices) {
    return LiveDevices::create(own, member.coordinator(), member.watch(),
                               {.devices = std::move(devices)})
        .status()
        .ToString();
  };
  member.say("all: ", with(*runtime, {}));
  member.say("others: ", with(*runtime, {member.process() == 0 ? 2048 : 0}));
  member.say("unknown: ", with(*runtime, {0, 2048, 77}));
  member.say("twice: ", with(*runtime, {0, 2048, 0}));
  ASSIGN_OR_RETURN(const std::string path, pjrt::testing::test_plugin_path());
  ASSIGN_OR_RETURN(const auto alone, Runtime::create({.plugin = path, .cpu_devices = 1}));
  member.say("alone: ", with(*alone, {}));
  if (!member.coordinator().recoverable()) return member.meet("end");
  if (member.process() == 0) {
    ASSIGN_OR_RETURN(const auto live,
                     LiveDevices::create(*runtime, member.coordinator(), member.watch(),
                                         {.timeout = absl::Milliseconds(500)}));
    member.say("late: ", live->run([](Ids) { return absl::OkStatus(); }).ToString());
  }
  return member.meet("end");
}

TEST(LiveDevicesOf, Spec3WhatIsMissingIsSaid) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto all = run_processes("ask_for_what_cannot_be", {.processes = 2, .recoverable = true});
  for (int i : {0, 1}) {
    EXPECT_EQ(all[i].exit_code, 0) << all[i].output;
    EXPECT_THAT(all[i].output, HasSubstr("all: OK"));
    EXPECT_THAT(all[i].output,
                HasSubstr(str_cat("others: INVALID_ARGUMENT: live devices: none of the devices ",
                                  i == 0 ? 2048 : 0, " is of this process, ", i, ";")));
    EXPECT_THAT(all[i].output, testing::ContainsRegex("unknown: INVALID_ARGUMENT: .* 77"));
    EXPECT_THAT(all[i].output, HasSubstr("twice: INVALID_ARGUMENT: live devices: device 0 is in"));
    EXPECT_THAT(all[i].output, HasSubstr("alone: FAILED_PRECONDITION: live devices: the runtime"));
  }
  EXPECT_THAT(all[0].output, AllOf(HasSubstr("late: DEADLINE_EXCEEDED"),
                                   HasSubstr("these neither asked nor died: process 1")));
}

TEST(LiveDevicesOf, Spec3ACoordinatorThatIsNotRecoverableAreRefused) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes("ask_for_what_cannot_be", {.processes = 2}))
    EXPECT_THAT(one.output, AllOf(HasSubstr("all: FAILED_PRECONDITION"),
                                  HasSubstr("start it with --recoverable")));
}

}  // namespace
}  // namespace tessera::process_testing
