// A run that stops, however it stops, goes on as if it had not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <optional>

#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::HasSubstr;

// Signals once, at the first report of a step that is at least `step`.
Workspace::LineWatcher signal_at(int step, int signal) {
  return [=, sent = false](const std::string& line) mutable -> std::optional<int> {
    const auto reported = reported_step(line);
    if (sent || !reported || *reported < step) return std::nullopt;
    sent = true;
    return signal;
  };
}

TEST(Resume, ARunInTwoPartsHasTheLossesOfOneToTheLastBit) {
  const Workspace workspace;
  const Ended whole = workspace.train({"output_directory=whole", "training.eval_interval=4"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto expected = workspace.losses("whole");
  ASSERT_EQ(expected.size(), 12u);
  // The schedule spans all 12 steps in both parts.
  const Ended first =
      workspace.train({"output_directory=parts", "training.steps=5", "schedule.steps=12"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Ended second = workspace.train({"output_directory=parts", "training.steps=12"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("resumed from"));
  EXPECT_EQ(workspace.losses("parts"), expected);
}

TEST(Resume, AStopSignalSavesLeavesWithZeroAndTheSameCommandGoesOn) {
  const Workspace workspace;
  const std::vector<std::string> run = {"training.steps=300", "logging.tensorboard=false"};
  std::vector<std::string> undisturbed = run;
  undisturbed.push_back("output_directory=whole");
  ASSERT_EQ(workspace.train(undisturbed).exit_code, 0);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::vector<std::string> disturbed = run;
    disturbed.push_back("output_directory=run" + std::to_string(signal));
    const Ended stopped = workspace.train(disturbed, signal_at(7, signal));
    EXPECT_EQ(stopped.exit_code, 0) << stopped.err;
    EXPECT_THAT(stopped.err, HasSubstr("as asked"));
    const Ended rest = workspace.train(disturbed);
    EXPECT_EQ(rest.exit_code, 0) << rest.err;
    EXPECT_EQ(workspace.losses("run" + std::to_string(signal)), workspace.losses("whole"));
  }
}

TEST(Resume, ASecondCtrlCLeavesAtOnce) {
  const Workspace workspace;
  // Signalled at every report: the second one finds the first still waiting for its step.
  const Ended ended =
      workspace.train({"training.steps=100000"}, [](const std::string& line) -> std::optional<int> {
        return reported_step(line) ? std::optional<int>(SIGINT) : std::nullopt;
      });
  EXPECT_THAT(ended.exit_code, ::testing::AnyOf(130, 0)) << ended.err;
}

TEST(Resume, ARunWhoseReaderLeavesGoesOnToItsEnd) {
  const Workspace workspace;
  const Ended ended = workspace.shell("\"$tessera\" train recipe.yaml 2>&1 | head -n 3");
  EXPECT_EQ(ended.exit_code, 0) << ended.out;
  EXPECT_EQ(workspace.losses("run").size(), 12u);
  EXPECT_TRUE(std::filesystem::exists(workspace.path("run/checkpoints/12/checkpoint.json")));
}

TEST(Resume, ARunWhoseFolderIsTakenAwayKeepsSavingAndSaysSo) {
  const Workspace workspace;
  bool taken = false;
  const Ended ended =
      workspace.train({"training.steps=100000", "checkpoint.interval=20", "checkpoint.keep=2"},
                      [&](const std::string& line) -> std::optional<int> {
                        if (!taken && reported_step(line)) {
                          std::filesystem::rename(workspace.path("run"), workspace.path("taken"));
                          taken = true;
                        }
                        const bool told = line.find("run was removed") != std::string::npos;
                        return told ? std::optional<int>(SIGTERM) : std::nullopt;
                      });
  EXPECT_THAT(ended.err, HasSubstr("as asked"));
  const Ended again = workspace.run({"checkpoint", "verify", "run"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
}

TEST(Resume, OtherSettingsThanTheCheckpointsAreNamed) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2"}).exit_code, 0);
  const Ended same = workspace.train({"training.steps=2"});
  EXPECT_THAT(same.err, ::testing::Not(HasSubstr("settings that changed"))) << same.err;
  const Ended other = workspace.train({"training.steps=3", "training.batch_size=16",
                                       "training.seed=5", "schedule.learning_rate=1e-3"});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  for (const char* change : {"training.batch_size 8 -> 16", "schedule.learning_rate 0.003 -> 0.001",
                             "training.steps 2 -> 3", "training.seed has no effect"})
    EXPECT_THAT(other.err, HasSubstr(change));
}

TEST(Resume, AKilledRunLosesAtMostTheStepsSinceItsLastCheckpoint) {
  const Workspace workspace;
  const std::vector<std::string> run = {"training.steps=300", "checkpoint.interval=10",
                                        "checkpoint.keep=2"};
  std::vector<std::string> undisturbed = run;
  undisturbed.push_back("output_directory=whole");
  ASSERT_EQ(workspace.train(undisturbed).exit_code, 0);
  int kills = 0;
  for (int step : {13, 27, 41})
    kills += workspace.train(run, signal_at(step, SIGKILL)).exit_code == 137;
  EXPECT_GE(kills, 2);  // a kill may come after the end of a run that is quick
  const Ended last = workspace.train(run);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(workspace.losses("run"), workspace.losses("whole"));
}

TEST(Resume, ARunThatIsCompleteAddsNothing) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=3"}).exit_code, 0);
  const std::string metrics = workspace.read("run/metrics.jsonl");
  EXPECT_THAT(metrics, HasSubstr("eval_loss"));
  const Ended again = workspace.train({"training.steps=3"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("complete"));
  EXPECT_EQ(workspace.read("run/metrics.jsonl"), metrics);
}

TEST(Resume, ASecondRunIsKeptOutOfTheFolderOfOneThatGoesOn) {
  const Workspace workspace;
  std::optional<Ended> second;
  const Ended first = workspace.train({"training.steps=100000"},
                                      [&](const std::string& line) -> std::optional<int> {
                                        if (second || !reported_step(line)) return std::nullopt;
                                        second = workspace.train({"training.steps=100000"});
                                        return SIGTERM;
                                      });
  ASSERT_TRUE(second) << first.err;
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second->exit_code, 1);
  EXPECT_THAT(second->err, HasSubstr("run is in use"));
}

TEST(Resume, AnotherMeshGoesOnWithTheSameLosses) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"output_directory=whole"}).exit_code, 0);
  ASSERT_EQ(workspace.train({"training.steps=6", "schedule.steps=12"}).exit_code, 0);
  const Ended other =
      workspace.train({"plugin.devices=4", "ici_data_parallelism=2", "ici_fsdp_parallelism=2"});
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const auto expected = workspace.losses("whole"), got = workspace.losses("run");
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [step, loss] : expected) {
    EXPECT_NEAR(std::stod(got.at(step)) / std::stod(loss), 1, 1e-5) << "step " << step;
  }
}

TEST(Resume, ADamagedCheckpointIsNamedAndTheOlderOneTaken) {
  const Workspace workspace;
  const std::vector<std::string> run = {"training.steps=8", "checkpoint.interval=4"};
  ASSERT_EQ(workspace.train(run).exit_code, 0);
  const std::string chunk = "run/checkpoints/8/state/params/layers/mlp/up/kernel/c.0.0.0";
  std::string bytes = workspace.read(chunk);
  ASSERT_FALSE(bytes.empty());
  bytes[bytes.size() / 2] ^= 1;
  workspace.write(chunk, bytes);
  const Ended verify = workspace.run({"checkpoint", "verify", "run"});
  EXPECT_EQ(verify.exit_code, 1);
  EXPECT_THAT(verify.out + verify.err, HasSubstr("params.layers.mlp.up.kernel"));
  const Ended again = workspace.train(run);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("params.layers.mlp.up.kernel"));
  EXPECT_THAT(again.err, HasSubstr("at step 4"));
}

TEST(Resume, ARunWithoutAGoodCheckpointDoesNotBeginAnew) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=3"}).exit_code, 0);
  const std::string metrics = workspace.read("run/metrics.jsonl");
  workspace.write("run/checkpoints/3/checkpoint.json", "{}");
  const Ended again = workspace.train({"training.steps=4"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_THAT(again.err, HasSubstr("no checkpoint in run/checkpoints is good"));
  EXPECT_EQ(workspace.read("run/metrics.jsonl"), metrics);
}

}  // namespace
}  // namespace tessera::e2e
