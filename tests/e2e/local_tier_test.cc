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
    "training.steps=12", "checkpoint.interval=1000", "checkpoint.local.interval=2",
    "checkpoint.local.directory=machine${TESSERA_PROCESS_ID}", "logging.tensorboard=false"};

void run_until_killed(const Workspace& workspace) {
  const Ended killed =
      launch_and_kill(workspace, 4, join(kMesh, kNear), /*victim=*/2,
                      R"sh([ "$(grep -cs '"save_tier":"local"' run/metrics.jsonl)" -ge 2 ])sh");
  ASSERT_EQ(killed.exit_code, 128 + 9) << killed.err;
  ASSERT_FALSE(std::filesystem::exists(workspace.path("run/checkpoints/12")));
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
  ASSERT_EQ(workspace_.train({"output_directory=one", "checkpoint.enabled=false"}).exit_code, 0);
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
  const Settings near = {"checkpoint.local.directory=near", "logging.tensorboard=false",
                         "logging.interval=1", "checkpoint.save_on_stop=false"};
  // It stops one or two steps later.
  const auto stop_after = [](int step) {
    return [step](const std::string& line) {
      return reported_step(line) == step ? std::optional<int>(15) : std::nullopt;
    };
  };
  const auto every = [&](int durable, int local) {
    return join(near, {"checkpoint.interval=" + std::to_string(durable),
                       "checkpoint.local.interval=" + std::to_string(local)});
  };
  ASSERT_EQ(workspace_.train({"output_directory=one", "checkpoint.enabled=false"}).exit_code, 0);
  ASSERT_EQ(workspace_.train(every(100, 4), stop_after(4)).exit_code, 0);
  const Ended local = workspace_.train(every(7, 100), stop_after(8));
  EXPECT_THAT(local.err, AllOf(HasSubstr("resumed from near/"), HasSubstr("at step 4")));
  const Ended durable = workspace_.train(every(100, 100));
  EXPECT_THAT(durable.err, HasSubstr("resumed from run/checkpoints/7"));
  expect_same_losses(workspace_, "one", "run", 0);

  // Another run, whose folder has the same name: it begins anew.
  ASSERT_EQ(
      workspace_.train(join(every(100, 2), {"output_directory=other"}), stop_after(4)).exit_code,
      0);
  std::filesystem::remove_all(workspace_.path("other"));
  const Ended anew = workspace_.train(join(every(100, 2), {"output_directory=other"}));
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
