// Checkpoints on each process's own machine. A folder a process, which no other one looks into,
// stands for a machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/several_processes.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Four processes that save to their machines every second step, and to the common disk never; one
// is killed once two such saves are there.
const Settings kNear = {
    "training.steps=60", "checkpoint.interval=1000", "checkpoint.local.interval=2",
    "checkpoint.local.directory=machine${TESSERA_PROCESS_ID}", "logging.tensorboard=false"};

void run_until_killed(const Workspace& workspace) {
  const Ended killed =
      launch_and_kill(workspace, 4, join(kMesh, kNear), /*victim=*/2,
                      R"sh([ "$(grep -cs '"save_tier":"local"' run/metrics.jsonl)" -ge 2 ])sh");
  ASSERT_EQ(killed.exit_code, 128 + 9) << killed.err;
  ASSERT_FALSE(std::filesystem::exists(workspace.path("run/checkpoints/60")));
}

int resumed_step(const Ended& ended) {
  static const std::string kText = "resumed from machine0/";
  const size_t at = ended.err.find(kText);
  const size_t step = ended.err.find(" at step ", at);
  return at == std::string::npos ? -1 : std::stoi(ended.err.substr(step + 9));
}

class LocalTier : public ::testing::Test {
 protected:
  // What the killed run left, to go on from more than once.
  void put_back() const {
    for (const std::string name : {"run", "machine0", "machine1", "machine2", "machine3"}) {
      std::filesystem::remove_all(workspace_.path(name));
      const std::string from = workspace_.path("killed/" + name);
      if (std::filesystem::exists(from))
        std::filesystem::copy(from, workspace_.path(name),
                              std::filesystem::copy_options::recursive);
    }
  }
  void lose(const std::string& machine) const {
    ASSERT_GT(std::filesystem::remove_all(workspace_.path(machine)), 1u);
  }

  const Workspace workspace_;
};

TEST_F(LocalTier, ARunGoesOnFromItThoughAMachineIsLost) {
  const Settings one = {"output_directory=one", "checkpoint.enabled=false", "training.steps=60"};
  ASSERT_EQ(workspace_.train(one).exit_code, 0);
  run_until_killed(workspace_);
  std::filesystem::create_directory(workspace_.path("killed"));
  for (const std::string name : {"run", "machine0", "machine1", "machine2", "machine3"})
    std::filesystem::rename(workspace_.path(name), workspace_.path("killed/" + name));

  // A new machine in the place of the third: its shards come from the fourth.
  put_back();
  lose("machine2");
  const Ended again = launch(workspace_, 4, join(kMesh, kNear));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_GE(resumed_step(again), 4) << again.err;
  expect_same_losses(workspace_, "one", "run");
  EXPECT_EQ(workspace_.run({"checkpoint", "verify", "run"}).exit_code, 0);
  for (const std::string machine : {"machine0", "machine1", "machine2", "machine3"}) {
    EXPECT_TRUE(std::filesystem::is_empty(workspace_.path(machine)))
        << "once the run is complete its durable checkpoint serves";
  }

  // No new machine: three go on.
  put_back();
  lose("machine3");
  const Ended fewer = launch(workspace_, 3,
                             join(kNear, {"plugin.devices=3", "ici_data_parallelism=3",
                                          "training.batch_size=6", "logging.tensorboard=false"}));
  ASSERT_EQ(fewer.exit_code, 0) << fewer.err;
  EXPECT_GE(resumed_step(fewer), 4) << fewer.err;

  // Two neighbours are lost, and nothing durable is there: nothing is begun anew by itself.
  put_back();
  lose("machine2");
  lose("machine3");
  const Ended lost = launch(workspace_, 4, join(kMesh, kNear));
  EXPECT_EQ(lost.exit_code, 1);
  EXPECT_THAT(lost.err, AllOf(HasSubstr("is missing"), HasSubstr("no checkpoint")));
}

TEST_F(LocalTier, TheNewerTierIsTakenAndAnotherRunsIsNot) {
  // Longer than any of it takes: how far a run gets until it is stopped is left open.
  const Settings near = {
      "checkpoint.local.directory=near", "logging.tensorboard=false", "logging.interval=1",
      "checkpoint.save_on_stop=false",   "training.steps=20000",      "schedule.steps=20000"};
  // Once it has saved to that tier.
  const auto stop_after_save = [&](const std::string& tier, const std::string& output) {
    return [=, this, sent = false](const std::string& line) mutable -> std::optional<int> {
      const std::string saved = "\"save_tier\":\"" + tier;
      if (sent || !reported_step(line) ||
          workspace_.read(output + "/metrics.jsonl").find(saved) == std::string::npos)
        return std::nullopt;
      sent = true;
      return 15;
    };
  };
  const auto every = [&](int durable, int local) {
    return join(near, {"checkpoint.interval=" + std::to_string(durable),
                       "checkpoint.local.interval=" + std::to_string(local)});
  };
  constexpr int kNever = 1000000;
  const Ended begun = workspace_.train(every(kNever, 4), stop_after_save("local", "run"));
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  const Ended local = workspace_.train(every(7, kNever), stop_after_save("durable", "run"));
  EXPECT_EQ(local.exit_code, 0) << local.err;
  EXPECT_THAT(local.err, HasSubstr("resumed from near/"));
  const int steps = workspace_.losses("run").rbegin()->first + 2;
  const std::string until = "training.steps=" + std::to_string(steps);
  const Ended durable = workspace_.train(join(every(kNever, kNever), {until}));
  EXPECT_THAT(durable.err, HasSubstr("resumed from run/checkpoints/"));
  ASSERT_EQ(workspace_
                .train({"output_directory=one", "checkpoint.enabled=false", until,
                        "schedule.steps=20000", "logging.interval=1"})
                .exit_code,
            0);
  expect_same_losses(workspace_, "one", "run", 0);

  // Another run, whose folder has the same name: it begins anew.
  ASSERT_EQ(workspace_
                .train(join(every(kNever, 2), {"output_directory=other"}),
                       stop_after_save("local", "other"))
                .exit_code,
            0);
  std::filesystem::remove_all(workspace_.path("other"));
  const Ended anew =
      workspace_.train(join(every(kNever, 2), {"output_directory=other", "training.steps=4"}));
  EXPECT_EQ(anew.exit_code, 0) << anew.err;
  EXPECT_THAT(anew.err, Not(HasSubstr("resumed from")));
}

TEST_F(LocalTier, AnObjectStoreOrWhatIsNoFolderIsRefused) {
  const Ended store = workspace_.train({"checkpoint.local.directory=s3://bucket/near"});
  EXPECT_EQ(store.exit_code, 2);
  EXPECT_THAT(store.err, HasSubstr("checkpoint.local.directory"));
  workspace_.write("file", "");
  const Ended file = workspace_.train({"checkpoint.local.directory=file"});
  EXPECT_NE(file.exit_code, 0);
  EXPECT_THAT(file.err, HasSubstr("file"));
}

}  // namespace
}  // namespace tessera::e2e
