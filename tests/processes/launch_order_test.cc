// Processes that launch programs over all their devices, in the same order or not.

#include "tessera/runtime/launch_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "tessera/base/strings.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/programs.h"

namespace tessera::process_testing {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Two programs over all devices, of which only one fits the other's sum in bytes.
struct Programs {
  std::unique_ptr<Runtime> runtime;
  CompiledFunction a, b;
  Array x_of_a, x_of_b;

  static Result<Programs> make(Member& member, bool check = true) {
    ASSIGN_OR_RETURN(auto runtime, make_runtime(member, check));
    ASSIGN_OR_RETURN(const Mesh mesh, runtime->mesh({{"data", -1}}));
    ASSIGN_OR_RETURN(const CompiledFunction a, sum_rows(*runtime, mesh, "a"));
    ASSIGN_OR_RETURN(const CompiledFunction b, sum_rows(*runtime, mesh, "b", 1024));
    ASSIGN_OR_RETURN(const Array x_of_a, ones(*runtime, a));
    ASSIGN_OR_RETURN(const Array x_of_b, ones(*runtime, b));
    return Programs{std::move(runtime), a, b, x_of_a, x_of_b};
  }
  Status run_a() const { return run(a, x_of_a); }
  Status run_b() const { return run(b, x_of_b); }
};

/// Says what the error was, and how long it took; the body goes on.
Status expect_failure(Member& member, const Status& status, absl::Time since) {
  if (status.ok()) return internal_error("nothing failed");
  member.say("got ", status.ToString());
  if (absl::Now() - since > absl::Seconds(60)) return internal_error("it took too long");
  // Nobody leaves before all have seen theirs.
  return member.meet("all have failed");
}

void expect_all(const std::vector<Ended>& all, const testing::Matcher<std::string>& matcher) {
  for (const Ended& one : all) {
    EXPECT_EQ(one.exit_code, 0) << one.output;
    EXPECT_THAT(one.output, matcher);
  }
}

TESSERA_PROCESS_BODY(same_order) {
  ASSIGN_OR_RETURN(const Programs programs, Programs::make(member));
  if (programs.runtime->launch_order() == nullptr) return internal_error("it is not on by default");
  for (int step = 0; step < 200; ++step) {
    RETURN_IF_ERROR(programs.run_a());
    if (step % 10 == 9) RETURN_IF_ERROR(programs.run_b());
    // Some are slow at times.
    if (step % 40 == member.process()) absl::SleepFor(absl::Milliseconds(100));
  }
  return programs.runtime->launch_order()->failure();
}

TEST(LaunchesOfProcesses, Spec1OrderTheSameOrderPassesAtDifferentSpeeds) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("same_order", {.processes = 3, .devices = 2}),
             Not(HasSubstr("operation")));
}

TESSERA_PROCESS_BODY(another_program) {
  ASSIGN_OR_RETURN(const Programs programs, Programs::make(member));
  for (int step = 0; step < 5; ++step) RETURN_IF_ERROR(programs.run_a());
  const absl::Time since = absl::Now();
  const bool diverges = member.process() == member.processes() - 1;
  const Status status = diverges ? programs.run_b() : programs.run_a();
  RETURN_IF_ERROR(expect_failure(member, status, since));
  // Nothing more is launched, by anyone.
  const Status again = programs.run_a();
  const Status reason = programs.runtime->launch_order()->failure();
  if (!reason.ok() && again.message().find(reason.message()) != again.message().npos)
    return absl::OkStatus();
  return internal_error("then it gave ", again.ToString());
}

TEST(LaunchesOfProcesses, Spec1OrderAnotherProgramFailsInBothAndNamesBoth) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("another_program", {.processes = 2, .devices = 2}),
             AllOf(HasSubstr("got FAILED_PRECONDITION"),
                   HasSubstr("operation 6 among processes 0, 1 is 'a' over data=4 (devices 0, 1, "
                             "2048, 2049) on process 0, and 'b' over data=4 (devices 0, 1, 2048, "
                             "2049) on process 1")));
}

TEST(LaunchesOfProcesses, Spec1OrderWhereOneOfFourDivergesAllFail) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("another_program", {.processes = 4}),
             AllOf(HasSubstr("got FAILED_PRECONDITION"),
                   HasSubstr("operation 6 among processes 0, 1, 2, 3 is 'a' over"),
                   HasSubstr(", and 'b' over data=4 (devices 0, 2048, 4096, 6144) on process 3")));
}

// Both are launched before either is waited for.
TESSERA_PROCESS_BODY(swapped) {
  ASSIGN_OR_RETURN(const Programs programs, Programs::make(member));
  RETURN_IF_ERROR(programs.run_a());
  const absl::Time since = absl::Now();
  const auto first = [&](bool a) {
    return a ? programs.a({&programs.x_of_a, 1}) : programs.b({&programs.x_of_b, 1});
  };
  const auto one = first(member.process() == 0), other = first(member.process() != 0);
  Status status = one.status();
  if (status.ok()) status = other.status();
  if (status.ok()) status = (*one)[0].await();
  if (status.ok()) status = (*other)[0].await();
  return expect_failure(member, status, since);
}

TEST(LaunchesOfProcesses, Spec1OrderTwoProgramsInSwappedOrderFailInBoth) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("swapped", {.processes = 2}),
             AllOf(HasSubstr("got FAILED_PRECONDITION"), HasSubstr("operation 2 among"),
                   HasSubstr("'a' over data=2 (devices 0, 2048) on process 0, and 'b' over data=2 "
                             "(devices 0, 2048) on process 1")));
}

// The same program and the same processes, but other devices of theirs.
TESSERA_PROCESS_BODY(another_mesh) {
  ASSIGN_OR_RETURN(auto runtime, make_runtime(member));
  const int64_t device = member.process();
  ASSIGN_OR_RETURN(const Mesh mesh, Mesh::create({{"data", 2}}, {device, 2048 + device}));
  ASSIGN_OR_RETURN(const CompiledFunction a, sum_rows(*runtime, mesh, "a"));
  ASSIGN_OR_RETURN(const Array x, ones(*runtime, a));
  const absl::Time since = absl::Now();
  return expect_failure(member, run(a, x), since);
}

TEST(LaunchesOfProcesses, Spec1OrderAnotherMeshFailsInBoth) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("another_mesh", {.processes = 2, .devices = 2}),
             HasSubstr("operation 1 among processes 0, 1 is 'a' over data=2 (devices 0, 2048) on "
                       "process 0, and 'a' over data=2 (devices 1, 2049) on process 1"));
}

// Without the check both go on; programs that mean the same then even give the same.
TESSERA_PROCESS_BODY(unchecked) {
  const bool check = Member::setting("CHECK") == "yes";
  ASSIGN_OR_RETURN(auto runtime, make_runtime(member, check));
  if ((runtime->launch_order() != nullptr) != check)
    return internal_error("the flag has no effect");
  ASSIGN_OR_RETURN(const Mesh mesh, runtime->mesh({{"data", -1}}));
  ASSIGN_OR_RETURN(const CompiledFunction own,
                   sum_rows(*runtime, mesh, str_cat("of_", member.process())));
  ASSIGN_OR_RETURN(const Array x, ones(*runtime, own));
  for (int step = 0; step < 20; ++step) {
    const Status status = run(own, x);
    if (!status.ok()) return expect_failure(member, status, absl::Now());
    absl::SleepFor(absl::Milliseconds(100));
  }
  member.say("all went well");
  return absl::OkStatus();
}

TEST(LaunchesOfProcesses, Spec1OrderAFlagTurnsTheCheckOff) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_all(run_processes("unchecked", {.processes = 2, .environment = {{"CHECK", "no"}}}),
             HasSubstr("all went well"));
  expect_all(run_processes("unchecked", {.processes = 2, .environment = {{"CHECK", "yes"}}}),
             AllOf(HasSubstr("'of_0' over"), HasSubstr("'of_1' over")));
}

}  // namespace
}  // namespace tessera::process_testing
