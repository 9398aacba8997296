// Runs of which processes die: what is left of them goes on, or all begin again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/several_processes.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Settings kNear = {"training.steps=60",           "checkpoint.interval=1000",
                        "checkpoint.local.interval=5", "checkpoint.local.directory=near",
                        "logging.tensorboard=false",   "logging.interval=10",
                        "logging.examples=true"};
// Some steps are made, and a checkpoint is there.
constexpr char kUnderWay[] =
    R"sh([ "$(grep -cs '"save_tier":"local"' run/metrics.jsonl)" -ge 3 ])sh";

class FaultTolerance : public ::testing::Test {
 protected:
  void SetUp() override {
    const Ended one = workspace_.train({"output_directory=one", "checkpoint.enabled=false",
                                        "training.steps=60", "logging.tensorboard=false"});
    ASSERT_EQ(one.exit_code, 0) << one.err;
  }
  Ended kill_one(int victim, const std::string& options, const Settings& more = {},
                 const std::string& signal = "KILL") const {
    return launch_and_kill(workspace_, 4, join(join(kMesh, kNear), more), victim, kUnderWay,
                           options, signal);
  }
  // The last line, which says what the time went into.
  nlohmann::json goodput() const {
    std::istringstream lines(workspace_.read("run/metrics.jsonl"));
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) {
      auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (json.is_object() && json.contains("wall_seconds")) last = std::move(json);
    }
    return last;
  }

  const Workspace workspace_;
};

TEST_F(FaultTolerance, TheOthersGoOnWithoutTheKilledOne) {
  const Ended ended = kill_one(2, "--on-failure elastic --max-restarts 0");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("was ended by signal 9; the others go on without it"),
                    HasSubstr("resumed from near/"), HasSubstr("done: 60 steps"),
                    // Eight rows a batch: three devices cannot share them.
                    HasSubstr("trying it with fewer processes"), HasSubstr("mesh fsdp=2"),
                    HasSubstr("training.gradient_accumulation_steps 1 -> 2")));
  expect_same_losses(workspace_, "one", "run");
}

TEST_F(FaultTolerance, AKilledOneJoinsAgainAlsoTheFirst) {
  const Ended ended = kill_one(0, "--on-failure elastic");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("process 0 was ended by signal 9; starting it again"),
                               HasSubstr("resumed from near/"), HasSubstr("done: 60 steps")));
  expect_same_losses(workspace_, "one", "run");

  const auto time = goodput();
  ASSERT_TRUE(time.is_object());
  double sum = 0;
  for (const char* kind : {"start", "compile", "training", "data_wait", "checkpoint", "validation",
                           "lost", "stopped"}) {
    const double seconds = time[std::string(kind) + "_seconds"].get<double>();
    EXPECT_GE(seconds, 0) << kind;
    sum += seconds;
  }
  const double wall = time["wall_seconds"].get<double>();
  EXPECT_NEAR(sum / wall, 1, 0.01);
  EXPECT_GT(time["lost_seconds"].get<double>(), 0);
}

// What process 3 runs: it dies once steps are made, and `again` says what then becomes of it.
std::string dies(const std::string& again) {
  return std::string(R"sh(tessera=$(readlink /proc/$PPID/exe)
    if [ "$TESSERA_NUM_PROCESSES/$TESSERA_PROCESS_ID" = 4/3 ]; then
      if [ "$TESSERA_RESTART" = 0 ]; then
        "$tessera" "$@" &
        until )sh") +
         kUnderWay + R"sh(; do sleep 0.1; done
        kill -KILL $!
        exit 9
      fi
      )sh" +
         again + R"sh(
    fi
    exec "$tessera" "$@")sh";
}

TEST_F(FaultTolerance, WhoComesLaterJoinsAfterTheNextStep) {
  // It comes back only when the others train without it.
  workspace_.write("dies.sh", dies("until grep -qs 'mesh fsdp=2' run/logs/process-0.log; do\n"
                                   "sleep 0.1; done"));
  bool joins = false, are_four = false, is_stopped = false;
  const Ended ended = workspace_.run(
      join({"launch", "--processes=4", "--on-failure=elastic", "--", "sh", "dies.sh", "train",
            "recipe.yaml"},
           join(join(kMesh, kNear), {"training.steps=100000"})),
      [&](const std::string& line) -> std::optional<int> {
        const auto says = [&](const char* text) { return line.find(text) != std::string::npos; };
        joins = joins || says("a process has come, and joins");
        are_four = are_four || (joins && says("mesh data=2, fsdp=2"));
        if (is_stopped || !are_four || !reported_step(line)) return std::nullopt;
        is_stopped = true;  // a second signal ends all at once
        return 15;
      });
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(are_four) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("the others go on without it"), HasSubstr("mesh fsdp=2"),
                               HasSubstr("stopped after step")));
}

TEST_F(FaultTolerance, OneThatIsStoppedForTooLongIsKilledAndJoinsAgain) {
  const Ended ended =
      kill_one(1, "--on-failure elastic --heartbeat-timeout-s 5", {}, /*signal=*/"STOP");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("killing process 1, which was declared dead"),
                    HasSubstr("no heartbeat came from it"), HasSubstr("done: 60 steps")));
  expect_same_losses(workspace_, "one", "run");
}

TEST_F(FaultTolerance, AllBeginAgainFromTheLastCheckpoint) {
  const Ended undisturbed = launch(
      workspace_, 4,
      join(join(kMesh, kNear), {"output_directory=whole", "checkpoint.local.directory=other"}));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.err;
  const Ended ended = kill_one(2, "--on-failure restart");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("starting all 4 again (restart 1 of 10)"),
                               HasSubstr("resumed from near/")));
  expect_same_losses(workspace_, "whole", "run", 0);  // bit by bit
}

TEST_F(FaultTolerance, WhoFailsAgainAndAgainIsLeftOut) {
  workspace_.write("dies.sh", dies("exit 9"));
  const Ended ended =
      workspace_.run(join({"launch", "--processes=4", "--on-failure=restart", "--min-processes=2",
                           "--", "sh", "dies.sh", "train", "recipe.yaml"},
                          join(join(kMesh, kNear), {"training.batch_size=12"})));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("process 3 has failed 2 times in a row: going on without it"),
                    HasSubstr("starting all 3 again"), HasSubstr("mesh data=3"),
                    HasSubstr("done: 60 steps")));
}

TEST_F(FaultTolerance, WrongUsageIsNotTriedAgain) {
  for (const std::string mode : {"restart", "elastic"}) {
    const Ended ended = workspace_.run({"launch", "--processes=2", "--on-failure=" + mode, "--",
                                        "train", "recipe.yaml", "trianing.steps=3"});
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.err, AllOf(HasSubstr("training.steps"), Not(HasSubstr("again"))));
  }
}

}  // namespace
}  // namespace tessera::e2e
