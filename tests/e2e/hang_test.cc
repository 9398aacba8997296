// Runs of which a process lives and does not get on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/e2e/several_processes.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const Settings kWatched = {"training.steps=200",
                           "checkpoint.interval=1000",
                           "checkpoint.local.interval=5",
                           "checkpoint.local.directory=near",
                           "logging.tensorboard=false",
                           "logging.interval=10",
                           "logging.examples=true",  // a write in each step
                           "fault_tolerance.hang_timeout_s=15"};

// Beside the program; see stuck_preload.cc.
std::string preload() {
  const char* build = std::getenv("TESSERA_BUILD_DIR");
  return std::filesystem::absolute(build ? build : "build/release") / "lib/libstuck_preload.so";
}

class Hang : public ::testing::Test {
 protected:
  /// Runs a command with a disk that hangs where "hang-N" says so, and a script of a shell beside
  /// it.
  Ended run_with(const std::string& script, const std::string& command,
                 const Settings& settings) const {
    workspace_.write("beside.sh", script);
    std::string text =
        "timeout 250 sh beside.sh & LD_PRELOAD=" + preload() + " \"$tessera\" " + command;
    for (const std::string& setting : settings) text += " '" + setting + "'";
    return workspace_.shell(text);
  }

  const Workspace workspace_;
};

TEST_F(Hang, TheOthersGoOnWithoutTheOneThatIsStuckAndItIsStartedAgain) {
  const Ended one = workspace_.train({"output_directory=one", "checkpoint.enabled=false",
                                      "training.steps=200", "logging.tensorboard=false"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Ended ended = run_with(
      R"sh(until grep -qs '"save_tier":"local"' run/metrics.jsonl; do sleep 0.1; done
           touch hang-2
           until grep -qs 'declared dead' run/logs/process-0.log launch.log; do sleep 0.1; done
           rm hang-2)sh",
      "launch --processes 4 --on-failure elastic -- train recipe.yaml 2>launch.log",
      join(kMesh, kWatched));
  // Whoever was the first to look has it in its log.
  std::string log = workspace_.read("launch.log");
  for (const int process : {0, 1, 3})
    log += workspace_.read("run/logs/process-" + std::to_string(process) + ".log");
  EXPECT_EQ(ended.exit_code, 0) << log;
  EXPECT_THAT(
      log,
      AllOf(ContainsRegex(
                "process 2 does not get on: for [0-9]+ s it has been [a-z ]+ [0-9]+, here:"),
            HasSubstr("usleep"),
            ContainsRegex("processes 0, 1, 3 have been waiting for that in .*(all|reduce)-"),
            HasSubstr("killing process 2, which was declared dead"), HasSubstr("done: 200 steps")));
  expect_same_losses(workspace_, "one", "run");
}

TEST_F(Hang, WhoIsSlowIsNamedAndWhereNothingMayGoOnAllEnd) {
  const Ended ended = run_with(
      R"sh(touch slow-1
           until grep -qs 'holds up the others:' run/logs/process-0.log; do sleep 0.1; done
           rm slow-1
           until grep -qs 'holds up the others no longer' run/logs/process-0.log; do sleep 0.1; done
           touch hang-1)sh",
      "launch --processes 2 -- train recipe.yaml",
      join(kWatched, {"plugin.devices=2", "ici_data_parallelism=2", "training.steps=1000000"}));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("process 1 holds up the others: of a step of"),
                               HasSubstr("process 1 holds up the others no longer"),
                               HasSubstr("process 1 does not get on"),
                               HasSubstr("process 0 has been waiting for that in"),
                               HasSubstr("did not get on: for ")));
}

TEST_F(Hang, OneAloneEndsItself) {
  const Ended ended = run_with(
      R"sh(until grep -qs '"save_tier"' run/metrics.jsonl; do sleep 0.1; done
           touch hang-0)sh",
      "train recipe.yaml", join(kWatched, {"checkpoint.interval=10", "training.steps=1000000"}));
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("process 0 does not get on: for "), HasSubstr("usleep"),
                               HasSubstr("it is ended now")));
}

}  // namespace
}  // namespace tessera::e2e
