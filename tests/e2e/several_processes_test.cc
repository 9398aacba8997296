// One run in several processes: a launcher, a coordinator and collectives on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Settings = std::vector<std::string>;

Ended launch(const Workspace& workspace, int processes, const Settings& settings) {
  Settings command = {"launch",
                      "--processes=" + std::to_string(processes),
                      "--heartbeat-timeout-s=60",
                      "--",
                      "train",
                      "recipe.yaml"};
  command.insert(command.end(), settings.begin(), settings.end());
  return workspace.run(command);
}

Settings join(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

void expect_same_losses(const Workspace& workspace, const std::string& expected,
                        const std::string& got) {
  const auto a = workspace.losses(expected), b = workspace.losses(got);
  ASSERT_EQ(a.size(), b.size()) << got;
  for (const auto& [step, loss] : a)
    EXPECT_NEAR(std::stod(b.at(step)) / std::stod(loss), 1, 1e-5) << got << " step " << step;
}

// Each axis alone over four processes of a device each, and data across slices of two processes.
TEST(SeveralProcesses, GiveTheLossesOfOne) {
  const Workspace workspace;
  const Settings common = {"training.steps=20",        "logging.tensorboard=false",
                           "model.layers=4",           "model.kv_heads=4",
                           "checkpoint.enabled=false", "training.eval_interval=10"};
  const Settings mixture = {"model.family=mixtral", "model.experts=4", "model.experts_per_token=2"};
  struct Run {
    std::string name;
    Settings settings;
    bool is_mixture = false;
  };
  const std::vector<Run> runs = {
      {"data4", {"ici_data_parallelism=4"}},
      {"fsdp4", {"ici_fsdp_parallelism=4"}},
      {"tensor4", {"ici_tensor_parallelism=4"}},
      {"stage4", {"ici_pipeline_parallelism=4"}},
      {"dcn_data2_fsdp2", {"num_slices=2", "dcn_data_parallelism=2", "ici_fsdp_parallelism=2"}},
      {"expert4", join(mixture, {"ici_expert_parallelism=4"}), true},
  };
  ASSERT_EQ(workspace.train(join(common, {"output_directory=one"})).exit_code, 0);
  ASSERT_EQ(workspace.train(join(join(common, mixture), {"output_directory=mixture"})).exit_code,
            0);
  for (const Run& run : runs) {
    const Settings settings =
        join(join(common, run.settings), {"plugin.devices=4", "output_directory=" + run.name});
    const Ended ended = launch(workspace, 4, settings);
    ASSERT_EQ(ended.exit_code, 0) << run.name << ": " << ended.err;
    expect_same_losses(workspace, run.is_mixture ? "mixture" : "one", run.name);
    EXPECT_EQ(workspace.losses(run.name, "eval_loss").size(), 2u);
    // Only the first one prints, and all of them log.
    EXPECT_THAT(ended.err, AllOf(HasSubstr("[0] "), HasSubstr("done: 20 steps")));
    EXPECT_THAT(ended.err, Not(HasSubstr("[1] ")));
    for (int process = 0; process < 4; ++process) {
      EXPECT_THAT(workspace.read(run.name + "/logs/process-" + std::to_string(process) + ".log"),
                  HasSubstr("done: 20 steps"));
    }
  }
}

TEST(SeveralProcesses, SeveralDevicesEachAndUnevenCountsAreTold) {
  const Workspace workspace;
  const Settings mesh = {"ici_data_parallelism=2", "ici_fsdp_parallelism=2",
                         "checkpoint.enabled=false", "logging.tensorboard=false"};
  ASSERT_EQ(workspace.train({"output_directory=one", "checkpoint.enabled=false"}).exit_code, 0);
  const Ended two = launch(workspace, 2, join(mesh, {"plugin.devices=4", "output_directory=two"}));
  ASSERT_EQ(two.exit_code, 0) << two.err;
  expect_same_losses(workspace, "one", "two");
  const Ended three = launch(workspace, 3, join(mesh, {"plugin.devices=4"}));
  EXPECT_EQ(three.exit_code, 2);
  EXPECT_THAT(three.err, AllOf(HasSubstr("plugin.devices is 4"), HasSubstr("plugin.devices=6")));
}

}  // namespace
}  // namespace tessera::e2e
