// Who may launch programs over devices of several processes.

#include "tessera/runtime/thread_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tessera/base/strings.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/programs.h"

namespace tessera::process_testing {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A program over all processes and one over this process alone, and threads to call them from.
struct Launching {
  std::unique_ptr<Runtime> runtime;
  CompiledFunction everywhere, here;
  Array x_everywhere, x_here;

  static Result<Launching> make(Member& member) {
    ASSIGN_OR_RETURN(auto runtime, make_runtime(member));
    ASSIGN_OR_RETURN(const Mesh all, runtime->mesh({{"data", -1}}));
    std::vector<int64_t> ids;
    for (const pjrt::Device& device : runtime->client().addressable_devices())
      ids.push_back(device.id());
    const auto count = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(const Mesh own, Mesh::create({{"data", count}}, std::move(ids)));
    ASSIGN_OR_RETURN(const CompiledFunction everywhere, sum_rows(*runtime, all, "everywhere"));
    ASSIGN_OR_RETURN(const CompiledFunction here, sum_rows(*runtime, own, "here"));
    ASSIGN_OR_RETURN(const Array x_everywhere, ones(*runtime, everywhere));
    ASSIGN_OR_RETURN(const Array x_here, ones(*runtime, here));
    return Launching{std::move(runtime), everywhere, here, x_everywhere, x_here};
  }
  Status launch() const { return run(everywhere, x_everywhere); }
  Status launch_here() const { return run(here, x_here); }
};

/// What `body` returns in a thread of its own, whose id goes to `id`.
Status in_thread(const std::function<Status()>& body, pid_t* id = nullptr) {
  Status status;
  std::thread([&] {
    if (id != nullptr) *id = gettid();
    status = body();
  }).join();
  return status;
}

Status expect_refused(const Status& status, pid_t launching, pid_t guarding) {
  const std::string message(status.message());
  const bool names_both = message.find(str_cat("thread ", launching, " ")) != std::string::npos &&
                          message.find(str_cat("thread ", guarding, " ")) != std::string::npos;
  if (status.code() == absl::StatusCode::kFailedPrecondition && names_both) return absl::OkStatus();
  return internal_error("threads ", launching, " and ", guarding, ": got ", status.ToString());
}

/// Runs `body` in two processes of two devices each, and expects both to end well.
void expect_ok(const std::string& body) {
  for (const Ended& one : run_processes(body, {.processes = 2, .devices = 2}))
    EXPECT_EQ(one.exit_code, 0) << one.output;
}

// A call that compiles first, and a later one.
TESSERA_PROCESS_BODY(another_thread) {
  const bool again = Member::setting("AGAIN") == "yes";
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  if (again) {
    RETURN_IF_ERROR(all.launch());
    RETURN_IF_ERROR(in_thread([&] { return all.launch(); }));
  }
  ASSIGN_OR_RETURN(const ThreadGuard guard, ThreadGuard::enter());
  RETURN_IF_ERROR(all.launch());
  pid_t id = 0;
  const Status refused = in_thread([&] { return all.launch(); }, &id);
  RETURN_IF_ERROR(expect_refused(refused, id, gettid()));
  return all.launch();
}

TEST(ThreadGuard, Spec9AFirstCallFromAnotherThreadIsRefused) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("another_thread");
}

TEST(ThreadGuard, Spec9ALaterCallFromAnotherThreadIsRefused) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  for (const Ended& one : run_processes(
           "another_thread", {.processes = 2, .devices = 2, .environment = {{"AGAIN", "yes"}}}))
    EXPECT_EQ(one.exit_code, 0) << one.output;
}

TESSERA_PROCESS_BODY(local_mesh) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  ASSIGN_OR_RETURN(const ThreadGuard guard, ThreadGuard::enter());
  return in_thread([&] { return all.launch_here(); });
}

TEST(ThreadGuard, Spec9DevicesOfOneProcessAreNeverChecked) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("local_mesh");
}

TESSERA_PROCESS_BODY(nested) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  ASSIGN_OR_RETURN(const ThreadGuard outer, ThreadGuard::enter());
  ASSIGN_OR_RETURN(const ThreadGuard inner, ThreadGuard::enter());
  RETURN_IF_ERROR(all.launch());
  pid_t id = 0;
  const Status refused = in_thread([&] { return all.launch(); }, &id);
  return expect_refused(refused, id, gettid());
}

TEST(ThreadGuard, Spec9NestsInItsThread) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("nested");
}

TESSERA_PROCESS_BODY(lifted) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  ASSIGN_OR_RETURN(const ThreadGuard outer, ThreadGuard::enter());
  ASSIGN_OR_RETURN(const ThreadGuard inner, ThreadGuard::enter(false));
  return in_thread([&] { return all.launch(); });
}

TEST(ThreadGuard, Spec9AnInnerOneThatIsOffLiftsIt) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("lifted");
}

TESSERA_PROCESS_BODY(lifted_for_a_while) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  ASSIGN_OR_RETURN(const ThreadGuard outer, ThreadGuard::enter());
  {
    ASSIGN_OR_RETURN(const ThreadGuard inner, ThreadGuard::enter(false));
    RETURN_IF_ERROR(in_thread([&] { return all.launch(); }));
  }
  pid_t id = 0;
  const Status refused = in_thread([&] { return all.launch(); }, &id);
  return expect_refused(refused, id, gettid());
}

TEST(ThreadGuard, Spec9TheOuterOneHoldsAgainAfterwards) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("lifted_for_a_while");
}

TESSERA_PROCESS_BODY(after_it) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  {
    ASSIGN_OR_RETURN(const ThreadGuard guard, ThreadGuard::enter());
    RETURN_IF_ERROR(all.launch());
  }
  return in_thread([&] { return all.launch(); });
}

TEST(ThreadGuard, Spec9AfterItAnyThreadMayLaunch) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("after_it");
}

TESSERA_PROCESS_BODY(in_a_subthread) {
  ASSIGN_OR_RETURN(const Launching all, Launching::make(member));
  const pid_t main_thread = gettid();
  return in_thread([&]() -> Status {
    ASSIGN_OR_RETURN(const ThreadGuard guard, ThreadGuard::enter());
    RETURN_IF_ERROR(all.launch());
    pid_t id = 0;
    const Status refused = in_thread([&] { return all.launch(); }, &id);
    if (id == main_thread) return internal_error("that is no other thread");
    return expect_refused(refused, id, gettid());
  });
}

TEST(ThreadGuard, Spec9MayBeEnteredInASubthread) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_ok("in_a_subthread");
}

TEST(ThreadGuard, Spec9NestingFromAnotherThreadIsAnError) {
  const auto guard = ThreadGuard::enter();
  ASSERT_TRUE(guard.ok());
  for (const bool on : {true, false}) {
    pid_t id = 0;
    const Status refused = in_thread([&] { return ThreadGuard::enter(on).status(); }, &id);
    EXPECT_EQ(expect_refused(refused, id, gettid()), absl::OkStatus());
    EXPECT_THAT(std::string(refused.message()), HasSubstr("may not enter a thread guard"));
  }
  EXPECT_TRUE(ThreadGuard::enter().ok());
}

}  // namespace
}  // namespace tessera::process_testing
