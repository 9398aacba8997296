// One run in several processes: a launcher, a coordinator and collectives on loopback.

#include "tests/e2e/several_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What a process of a run logged.
std::string log_of(const Workspace& workspace, const std::string& output, int process) {
  return workspace.read(output + "/logs/process-" + std::to_string(process) + ".log");
}

// What each process says that it sent a step, in percent above the least.
void expect_little_more_than_the_least_is_sent(const std::string& log) {
  static const std::regex kSent(
      "sent ([0-9,]+) bytes a step to other processes, (-?[0-9.]+) % above the least");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(log, match, kSent)) << log;
  EXPECT_LE(std::abs(std::stod(match[2])), 5) << match[0];
}

// Each axis alone over four processes of a device each, and data across slices of two processes.
TEST(SeveralProcesses, GiveTheLossesOfOne) {
  const Workspace workspace;
  const Settings common = {"training.steps=20",        "logging.tensorboard=false",
                           "model.layers=4",           "model.kv_heads=4",
                           "checkpoint.enabled=false", "training.eval_interval=10"};
  const Settings mixture = {"model.family=mixtral", "model.experts=4", "model.experts_per_token=2",
                            "model.capacity_factor=1.25"};
  struct Run {
    std::string name;
    Settings settings;
    int rows = 0;  // of a batch, that each process reads; 0: all
    bool is_mixture = false;
  };
  const std::vector<Run> runs = {
      {"data4", {"ici_data_parallelism=4"}, 2},
      {"fsdp4", {"ici_fsdp_parallelism=4"}, 2},
      {"tensor4", {"ici_tensor_parallelism=4"}},
      {"stage4", {"ici_pipeline_parallelism=4"}},
      {"dcn_data2_fsdp2", {"num_slices=2", "dcn_data_parallelism=2", "ici_fsdp_parallelism=2"}, 2},
      {"expert4", join(mixture, {"ici_expert_parallelism=4"}), 2, true},
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
      const std::string log = log_of(workspace, run.name, process);
      EXPECT_THAT(log, HasSubstr("done: 20 steps"));
      expect_little_more_than_the_least_is_sent(log);
      if (run.rows > 0) {
        EXPECT_THAT(log, HasSubstr("reads " + std::to_string(run.rows) + " of 8 rows a batch"));
      }
    }
  }
}

// Saved by four processes, gone on with by one, by two and by eight devices, and by as many again:
// the losses are those of a run that never stopped.
TEST(SeveralProcesses, AnyNumberOfThemGoesOnFromTheirCheckpoints) {
  const Workspace workspace;
  const Settings mesh = {"ici_data_parallelism=2", "ici_fsdp_parallelism=2", "plugin.devices=4",
                         "logging.tensorboard=false"};
  const Settings half = join(mesh, {"training.steps=6", "schedule.steps=12"});
  ASSERT_EQ(workspace.train({"output_directory=one", "checkpoint.enabled=false"}).exit_code, 0);
  const Ended saved = launch(workspace, 4, join(half, {"output_directory=half"}));
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  EXPECT_THAT(saved.err, HasSubstr("saved checkpoint half/checkpoints/6"));
  const Ended verified = workspace.run({"checkpoint", "verify", "half"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(workspace.run({"generate", "half/config.yaml", "--prompt", "Line"}).exit_code, 0);

  struct GoOn {
    std::string name;
    int processes;
    Settings settings;
  };
  const std::vector<GoOn> ways = {
      {"alone", 1, {"plugin.devices=1"}},
      {"two", 2, {"plugin.devices=2", "ici_fsdp_parallelism=2"}},
      {"four", 4, mesh},
      {"eight", 1, {"plugin.devices=8", "ici_fsdp_parallelism=4", "ici_tensor_parallelism=2"}},
      {"three", 3, {"plugin.devices=3", "ici_data_parallelism=3", "training.batch_size=6"}},
  };
  for (const GoOn& way : ways) {
    std::filesystem::copy(workspace.path("half"), workspace.path(way.name),
                          std::filesystem::copy_options::recursive);
    const Settings settings =
        join(way.settings, {"logging.tensorboard=false", "output_directory=" + way.name});
    const Ended ended =
        way.processes == 1 ? workspace.train(settings) : launch(workspace, way.processes, settings);
    ASSERT_EQ(ended.exit_code, 0) << way.name << ": " << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("resumed from")) << way.name;
    if (way.name != "three") expect_same_losses(workspace, "one", way.name);
  }
}

TEST(SeveralProcesses, AStopSignalSavesOnceAndAllLeaveAtTheSameStep) {
  const Workspace workspace;
  const Settings settings = {"plugin.devices=2", "ici_fsdp_parallelism=2", "training.steps=2000",
                             "logging.interval=1", "logging.tensorboard=false"};
  Settings command = {"launch", "--processes=2", "--", "train", "recipe.yaml"};
  const Ended ended = workspace.run(join(command, settings), [](const std::string& line) {
    return reported_step(line) == 3 ? std::optional<int>(15) : std::nullopt;
  });
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("saved checkpoint"), HasSubstr("stopped after step")));
  const auto stopped_at = [&](int process) {
    const std::string log = log_of(workspace, "run", process);
    const size_t at = log.find("stopped after step");
    return at == std::string::npos ? log : log.substr(at);
  };
  EXPECT_EQ(stopped_at(0), stopped_at(1));
  EXPECT_EQ(workspace.run({"checkpoint", "verify", "run"}).exit_code, 0);
}

TEST(SeveralProcesses, AKilledProcessEndsTheRunWhichGoesOnFromItsCheckpoint) {
  const Workspace workspace;
  const Settings settings = {"plugin.devices=2",   "ici_fsdp_parallelism=2",
                             "training.steps=60",  "checkpoint.interval=1",
                             "logging.interval=1", "logging.tensorboard=false"};
  ASSERT_EQ(
      workspace.train({"output_directory=one", "checkpoint.enabled=false", "training.steps=60"})
          .exit_code,
      0);
  const Ended killed =
      launch_and_kill(workspace, 2, settings, /*victim=*/1,
                      "grep -qs 'saved checkpoint run/checkpoints/4' run/logs/process-0.log");
  EXPECT_EQ(killed.exit_code, 128 + 9) << killed.err;
  // The other one knows at once whom it waited for, and its log says so.
  EXPECT_THAT(killed.err, HasSubstr("was ended by signal 9: its own messages say why"));
  EXPECT_THAT(log_of(workspace, "run", 0), HasSubstr("error: process 1 ("));
  EXPECT_LT(workspace.losses("run").size(), 60u);
  const Ended again = launch(workspace, 2, settings);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("resumed from"));
  expect_same_losses(workspace, "one", "run");
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

// Two processes that are told to begin with different weights, which nothing else notices.
TEST(SeveralProcesses, Spec2ReplicasThatDifferEndTheRunAndAreNamed) {
  const Workspace workspace;
  for (const std::string seed : {"0", "1"}) {
    const Settings run = {"output_directory=weights" + seed, "training.seed=" + seed,
                          "training.steps=2", "logging.tensorboard=false"};
    const Ended ended = workspace.train(run);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  // What is started alike reads something else on another host, as here in another folder.
  const auto launched = [&](const std::string& weights, const std::string& output) {
    return workspace.shell(
        "\"$tessera\" launch --processes=2 --heartbeat-timeout-s=30 -- sh -c 'mkdir -p "
        "elsewhere$TESSERA_PROCESS_ID; ln -sfn $PWD/weights" +
        weights +
        " elsewhere$TESSERA_PROCESS_ID/weights; r=$PWD; cd elsewhere$TESSERA_PROCESS_ID; "
        "exec \"$0\" train $r/recipe.yaml training.steps=4 data.store=$r/tokens "
        "plugin.devices=2 ici_data_parallelism=2 guards.replica_check_interval=2 "
        "logging.tensorboard=false checkpoint.initialize_from=weights output_directory=$r/" +
        output + "' \"$tessera\"");
  };
  const Ended same = launched("0", "same");
  EXPECT_EQ(same.exit_code, 0) << same.err;
  const Ended broken = launched("$TESSERA_PROCESS_ID", "broken");
  EXPECT_NE(broken.exit_code, 0);
  EXPECT_THAT(broken.err,
              AllOf(HasSubstr("guards.replica_check_interval: after step 2: replicas differ: "
                              "'params."),
                    HasSubstr("device 2048 holds another value than device 0")));
  EXPECT_FALSE(std::filesystem::exists(workspace.path("broken/checkpoints/2")));
}

// What would let replicas drift apart, or fail at the first save, is refused before anything is
// compiled; and where one process cannot begin, the other does not wait for it.
TEST(SeveralProcesses, OnesThatWereStartedForDifferentRunsAreRefused) {
  const Workspace workspace;
  workspace.write("other/text.txt", std::string(5000, 'x'));
  struct Case {
    std::string settings;  // of process $i
    int exit_code;
    std::vector<std::string> says;
    std::string folder = ".";  // where it is started
  };
  const std::vector<Case> cases = {
      {"schedule.learning_rate=0.00$((i+1)) data.shuffle_seed=$i output_directory=a",
       2,
       {"process 1 was started for another run", "schedule.learning_rate is 0.002, and 0.001",
        "data.shuffle_seed is 1, and 0 on process 0", "the same recipe and overrides"}},
      {"output_directory=b$i", 1, {"output_directory of process 1, b1, is not the folder"}},
      {"checkpoint.directory=ck$i output_directory=c", 2, {"checkpoint.directory is \"ck1\""}},
      {"output_directory=$r/d checkpoint.directory=ck",
       1,
       {"checkpoint.directory of process 1, ck, is not the folder"},
       "$(test $i = 1 && echo other || echo .)"},
      {"data.store=$r/tokens-$(test $i = 1 && echo other || echo corpus) output_directory=e",
       1,
       {"data.store", "of process 1 holds other tokens"}},
      {"output_directory=$(test $i = 1 && echo recipe.yaml/x || echo f)",
       1,
       {"output_directory: recipe.yaml: is a file", "process 1 ("}},
  };
  for (const std::string folder : {"corpus", "other"}) {
    const Ended built =
        workspace.run({"data", "build", "--output=tokens-" + folder, "--tokenizer=bytes", folder});
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }
  for (const Case& one : cases) {
    const Ended ended = workspace.shell(
        "timeout 100 \"$tessera\" launch --processes=2 --grace-s=60 -- sh -c "
        "'i=$TESSERA_PROCESS_ID; r=$PWD; cd " +
        one.folder +
        "; exec \"$0\" train $r/recipe.yaml data.store=$r/tokens plugin.devices=2 "
        "ici_fsdp_parallelism=2 logging.tensorboard=false " +
        one.settings + "' \"$tessera\"");
    EXPECT_EQ(ended.exit_code, one.exit_code) << one.settings << "\n" << ended.err;
    for (const std::string& part : one.says)
      EXPECT_THAT(ended.err, HasSubstr(part)) << one.settings;
    EXPECT_THAT(ended.err, Not(HasSubstr(" compiling\n"))) << one.settings;
    EXPECT_THAT(ended.err, Not(HasSubstr("killing those"))) << one.settings;
  }
}

// Slices that processes make are not known before they are there.
TEST(SeveralProcesses, MayEachBeASlice) {
  const Workspace workspace;
  const Settings settings = {
      "plugin.devices=4",           "slices_from=process",      "dcn_data_parallelism=2",
      "ici_fsdp_parallelism=2",     "training.steps=2",         "model.layers=1",
      "data.validation_fraction=0", "checkpoint.enabled=false", "logging.tensorboard=false"};
  const Ended ended = launch(workspace, 2, settings);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("mesh data=2, fsdp=2"));
}

}  // namespace
}  // namespace tessera::e2e
