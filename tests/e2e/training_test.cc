// What a run computes and says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "tessera/ckpt/grid.h"
#include "tessera/ckpt/manager.h"
#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Training, TransfersAreGuardedAndCounted) {
  const Workspace workspace;
  const std::vector<std::string> common = {"training.steps=2", "logging.tensorboard=false",
                                           "checkpoint.enabled=false"};
  const auto run = [&](const std::string& level, const std::string& more) {
    std::vector<std::string> settings = common;
    settings.push_back("guards.transfer=" + level);
    settings.push_back("output_directory=" + level);
    if (!more.empty()) settings.push_back(more);
    return workspace.train(settings);
  };
  const Ended all = run("disallow_explicit", "");
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_THAT(all.err, AllOf(HasSubstr("Disallowed host-to-device transfer: s32["),
                             HasSubstr("explicit, at "), HasSubstr("feed.cc:")));
  const Ended logged = run("log_explicit", "--debug");
  EXPECT_EQ(logged.exit_code, 0) << logged.err;
  EXPECT_THAT(logged.err, AllOf(HasSubstr("warning: host-to-device transfer: s32["),
                                HasSubstr("warning: device-to-host transfer: f32[] (4 bytes)"),
                                HasSubstr("host-to-device transfers, ")));
}

TEST(Training, AllMeshesAndWaysToComputeGiveTheSameLosses) {
  const Workspace workspace;
  const std::vector<std::string> common = {"training.steps=20", "logging.tensorboard=false",
                                           "checkpoint.enabled=false"};
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"one", {}},
      {"fsdp2", {"plugin.devices=2", "ici_fsdp_parallelism=2"}},
      {"data2_fsdp2", {"plugin.devices=4", "ici_data_parallelism=2", "ici_fsdp_parallelism=2"}},
      {"fsdp2_tensor2", {"plugin.devices=4", "ici_fsdp_parallelism=2", "ici_tensor_parallelism=2"}},
      {"data2_fsdp2_tensor2",
       {"plugin.devices=8", "ici_data_parallelism=2", "ici_fsdp_parallelism=2",
        "ici_tensor_parallelism=2"}},
      {"own_axis_rules",
       {"plugin.devices=4", "ici_fsdp_parallelism=2", "ici_tensor_parallelism=2",
        "axis_rules={embed: [], activation_batch: [fsdp], mlp: [fsdp, tensor], vocab: []}",
        "sharding_tolerance=1"}},
      {"unrolled", {"training.scan_layers=false"}},
      {"accumulated", {"training.gradient_accumulation_steps=4"}},
      {"accumulated_fsdp2_tensor2",
       {"training.gradient_accumulation_steps=2", "plugin.devices=4", "ici_fsdp_parallelism=2",
        "ici_tensor_parallelism=2"}},
      {"remat", {"training.remat=full"}},
      {"unrolled_remat_fsdp2",
       {"training.scan_layers=false", "training.remat=full", "plugin.devices=2",
        "ici_fsdp_parallelism=2"}},
      {"stage2_context2",
       {"plugin.devices=4", "ici_pipeline_parallelism=2", "ici_context_parallelism=2",
        "training.context_parallel_strategy=ring", "training.pipeline_microbatches=4"}},
  };
  for (const auto& [name, overrides] : runs) {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    arguments.push_back("output_directory=" + name);
    const Ended ended = workspace.train(arguments);
    ASSERT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
    if (name == "stage2_context2") {
      EXPECT_THAT(ended.err, HasSubstr("pipeline: 2 stages, 4 microbatches, 1 repeat; a stage "
                                       "waits 20.0 % of the time"));
    }
  }
  const auto expected = workspace.losses("one");
  ASSERT_EQ(expected.size(), 20u);
  EXPECT_LT(std::stod(expected.at(20)), std::stod(expected.at(1)) - 1);
  for (const auto& [name, overrides] : runs) {
    const auto got = workspace.losses(name);
    ASSERT_EQ(got.size(), expected.size()) << name;
    for (const auto& [step, loss] : expected) {
      EXPECT_NEAR(std::stod(got.at(step)) / std::stod(loss), 1, 1e-5) << name << " step " << step;
    }
    for (const char* key : {"eval_loss", "eval_perplexity", "eval_tokens"}) {
      const auto validations = workspace.losses(name, key);
      ASSERT_EQ(validations.size(), 1u) << name;
      const double one = std::stod(workspace.losses("one", key).at(20));
      EXPECT_NEAR(std::stod(validations.at(20)) / one, 1, 1e-5) << name << " " << key;
    }
  }
}

TEST(Mesh, ACompiledStepShowsItsCollectivesAndWhetherTheyCrossSlices) {
  const Workspace workspace;
  const Ended ended =
      workspace.run({"mesh", "recipe.yaml", "--devices", "8", "--slices", "2", "--compile",
                     "ici_fsdp_parallelism=-1", "sharding_tolerance=1"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, ::testing::AllOf(HasSubstr("mesh data=2, fsdp=4"),
                                          HasSubstr("compiled for 8 devices"),
                                          HasSubstr("TFLOP of matrix products")));
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("all-gather +fsdp +inside"));
  EXPECT_THAT(ended.out, ::testing::ContainsRegex("all-reduce +data +across"));
}

TEST(Training, SaysAtItsStartWhatItWillDoAndWritesItsMetrics) {
  const Workspace workspace;
  const Ended ended = workspace.train({"training.eval_interval=6"});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* part : {"learning_rate: 0.003", "parameters", "TFLOP a step", "memory a device",
                           "compiled train_step", "GEMM peak", "step 1/12", "lr 1.50e-03",
                           "grad norm", "tokens/s", "TFLOP/s a device", "% of GEMM peak",
                           "validation loss", "unigram_loss", "saved checkpoint"}) {
    EXPECT_THAT(ended.err, HasSubstr(part));
  }
  EXPECT_EQ(workspace.losses("run").size(), 12u);
  EXPECT_FALSE(std::filesystem::is_empty(workspace.path("run/tensorboard")));
  const Ended list = workspace.run({"checkpoint", "ls", "run"});
  EXPECT_THAT(list.out, ::testing::AllOf(HasSubstr("step 12  20"), HasSubstr("loss "),
                                         HasSubstr("one device")));
}

TEST(Training, ALossThatIsNotFiniteEndsTheRunBeforeItIsSaved) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2", "schedule.steps=12"}).exit_code, 0);
  const Ended ended = workspace.train({"schedule.learning_rate=100", "schedule.kind=constant",
                                       "optimizer.weight_decay=100", "checkpoint.interval=1"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("not finite"));
  EXPECT_THAT(ended.err, HasSubstr("step "));
  EXPECT_THAT(ended.err, HasSubstr("params."));
  EXPECT_THAT(ended.err, HasSubstr("checkpoints/"));
  const Ended verify = workspace.run({"checkpoint", "verify", "run"});
  EXPECT_EQ(verify.exit_code, 0) << verify.err;
}

// A checkpoint that is whole, but holds a weight that is not a number.
TEST(Training, ANanInAWeightEndsTheRunAtOnce) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2", "schedule.steps=12"}).exit_code, 0);
  PosixFileSystem files;
  const CheckpointManager manager(files, workspace.path("run/checkpoints"));
  const auto reader = manager.open(2);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::vector<ArraySpec> specs;
  for (const ArrayRecord& array : (*reader)->manifest().arrays) specs.push_back(array.spec);
  const auto writer = manager.begin(3, specs);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (const ArraySpec& spec : specs) {
    HostArray value = (*reader)->read_array(spec.name).value();
    if (spec.name == "params.layers.mlp.up.kernel")
      value.as<float>()[77] = std::numeric_limits<float>::quiet_NaN();
    if (spec.name == "step") value.as<int32_t>()[0] = 3;
    for (int64_t i = 0; i < spec.chunk_count(); ++i) {
      const Box box = spec.chunk_box(grid_index(i, spec.grid()));
      ASSERT_TRUE((*writer)->write_shard(spec.name, box, slice(value, box).bytes()).ok());
    }
  }
  ASSERT_TRUE((*writer)->commit((*reader)->manifest()).ok());
  const Ended ended = workspace.train({"checkpoint.interval=1"});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("at step 3"));
  EXPECT_THAT(ended.err, HasSubstr("step 4: loss nan"));
  EXPECT_FALSE(std::filesystem::exists(workspace.path("run/checkpoints/4")));
}

// Layers recomputed in bf16 over a mesh that splits both batch and weights: the losses are those
// without recomputation, and those of f32 but for bf16's rounding.
TEST(Training, RecomputationInBf16OnAMeshOfFourGivesTheSameLosses) {
  const Workspace workspace;
  const std::vector<std::pair<std::string, std::vector<std::string>>> runs = {
      {"f32", {"training.dtype=f32"}},
      {"kept", {"training.dtype=bf16"}},
      {"recomputed", {"training.dtype=bf16", "training.remat=full"}},
  };
  for (const auto& [name, overrides] : runs) {
    std::vector<std::string> arguments = overrides;
    for (const char* common :
         {"logging.tensorboard=false", "checkpoint.enabled=false", "plugin.devices=4",
          "ici_fsdp_parallelism=2", "ici_tensor_parallelism=2"}) {
      arguments.push_back(common);
    }
    arguments.push_back("output_directory=" + name);
    const Ended ended = workspace.train(arguments);
    ASSERT_EQ(ended.exit_code, 0) << name << ": " << ended.err;
  }
  const auto f32 = workspace.losses("f32"), kept = workspace.losses("kept"),
             recomputed = workspace.losses("recomputed");
  ASSERT_EQ(f32.size(), 12u);
  for (const auto& [step, loss] : f32) {
    EXPECT_NEAR(std::stod(kept.at(step)) / std::stod(loss), 1, 1e-2) << "step " << step;
    EXPECT_NEAR(std::stod(recomputed.at(step)) / std::stod(kept.at(step)), 1, 2e-3)
        << "step " << step;
  }
  EXPECT_NE(kept.at(12), f32.at(12)) << "bf16 rounds to the bits of f32?";
}

TEST(Generation, IsTheSameForTheSameSeedAndSaysWhatIsWrong) {
  const Workspace workspace;
  const Ended early = workspace.run({"generate", "recipe.yaml", "--prompt", "Line"});
  EXPECT_EQ(early.exit_code, 1);
  ASSERT_EQ(workspace.train({}).exit_code, 0);
  const std::vector<std::string> arguments = {"generate", "recipe.yaml",  "--prompt",
                                              "Line",     "--max-tokens", "20"};
  const Ended first = workspace.run(arguments), second = workspace.run(arguments);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("Line"));
  EXPECT_GT(first.out.size(), 6u);
  EXPECT_EQ(first.out, second.out);
  const Ended greedy =
      workspace.run({"generate", "recipe.yaml", "--prompt", "Line", "--temperature", "0"});
  EXPECT_EQ(greedy.exit_code, 0) << greedy.err;
  const Ended cold =
      workspace.run({"generate", "recipe.yaml", "--prompt", "Line", "--temperature", "1e-300"});
  EXPECT_EQ(cold.out, greedy.out);
  const Ended longer =
      workspace.run({"generate", "recipe.yaml", "--prompt", std::string(100, 'x')});
  EXPECT_EQ(longer.exit_code, 1);
  EXPECT_THAT(longer.err, HasSubstr("window"));
}

TEST(Generation, WorksOnTheMeshThatTrainedAndGivesTheTextOfOneDevice) {
  const Workspace workspace;
  const std::vector<std::string> mesh = {"plugin.devices=4", "ici_data_parallelism=2",
                                         "ici_fsdp_parallelism=2"};
  ASSERT_EQ(workspace.train(mesh).exit_code, 0);
  std::vector<std::string> arguments = {"generate", "recipe.yaml",   "--prompt",
                                        "Line",     "--temperature", "0"};
  const Ended one = workspace.run(arguments);
  arguments.insert(arguments.end(), mesh.begin(), mesh.end());
  const Ended four = workspace.run(arguments);
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_EQ(four.out, one.out);
}

TEST(Generation, SaysThatThereIsNoCheckpoint) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"checkpoint.enabled=false", "training.steps=2"}).exit_code, 0);
  const Ended ended = workspace.run({"generate", "recipe.yaml", "--prompt", "Line"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no checkpoint"));
}

}  // namespace
}  // namespace tessera::e2e
