#include "tessera/train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::string load_error(std::vector<std::string> overrides) {
  RunConfig config;
  return std::string(from_absl(load_config(config, "", overrides).message()));
}

std::string mesh_error(std::vector<std::string> overrides, int64_t devices) {
  RunConfig config;
  EXPECT_TRUE(load_config(config, "", overrides).ok());
  return std::string(from_absl(config.validate_mesh(devices).message()));
}

TEST(RunConfig, TheDefaultsAreValidOnOneDevice) {
  RunConfig config;
  EXPECT_TRUE(load_config(config, "", {}).ok());
  EXPECT_TRUE(config.validate_mesh(1).ok());
}

TEST(RunConfig, AModelsOwnKeysStandBesideItsFamily) {
  RunConfig config;
  ASSERT_TRUE(
      load_config(config, "", std::vector<std::string>{"model.layers=3", "model.embed=64"}).ok());
  EXPECT_EQ(config.model.llama.layers, 3);
  EXPECT_EQ(config.model.llama.resolved_head_dim(), 8);
  EXPECT_THAT(load_error({"model.family=lama"}), HasSubstr("the nearest is llama"));
}

TEST(RunConfig, AMeshThatDoesNotFitTheDevicesNamesItsAxesAndTheDevices) {
  EXPECT_EQ(mesh_error({"mesh.data=2", "mesh.fsdp=2"}, 3),
            "the mesh (mesh.data 2, mesh.fsdp 2, mesh.tensor 1) needs 4 devices, and there are 3: "
            "change an axis, or "
            "plugin.devices");
  EXPECT_THAT(mesh_error({"mesh.data=3"}, 4),
              HasSubstr("needs a multiple of 3 devices, and there are 4"));
  EXPECT_THAT(mesh_error({"mesh.fsdp=2"}, 1), HasSubstr("needs 2 devices, and there is 1"));
}

TEST(RunConfig, AMeshThatDoesNotFitTheAskedDevicesIsAnErrorBeforeAnyDeviceIsTouched) {
  EXPECT_THAT(
      load_error({"plugin.devices=4", "mesh.data=3"}),
      HasSubstr("needs a multiple of 3 devices, and there are 4: change an axis, or plugin.devices "
                "(mesh.data: command line, plugin.devices: command line)"));
}

TEST(MeshConfig, MinusOneTakesWhatTheOthersLeave) {
  const Result<MeshConfig> mesh = MeshConfig{.data = 2, .fsdp = -1, .tensor = 2}.resolved(16);
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->fsdp, 4);
  EXPECT_EQ(mesh->batch_shards(), 8);
}

TEST(MeshConfig, TwoAxesThatTakeWhatTheOthersLeaveAreAnError) {
  EXPECT_THAT(load_error({"mesh.data=-1"}),
              HasSubstr("mesh: data is -1, fsdp -1, tensor 1: -1 takes what the others "
                        "leave, so only one may be -1 (data: command line)"));
}

TEST(RunConfig, WhatTheMeshCannotCutEvenlyIsNamedWithAMultiple) {
  EXPECT_EQ(mesh_error({"training.batch_size=6"}, 4),
            "training.batch_size is 6, which cannot be cut into 4 equal parts (mesh.data x "
            "mesh.fsdp on 4 devices): use "
            "a multiple, such as 8");
  EXPECT_THAT(mesh_error({"model.embed=66", "model.heads=3", "model.kv_heads=1"}, 4),
              HasSubstr("model.embed is 66"));
  EXPECT_THAT(mesh_error({"mesh.tensor=4", "model.kv_heads=2"}, 4),
              HasSubstr("model.kv_heads is 2"));
  EXPECT_THAT(mesh_error({"mesh.tensor=4", "model.vocab_size=258"}, 4),
              HasSubstr("model.vocab_size is 258"));
  EXPECT_THAT(mesh_error({"mesh.tensor=4", "model.mlp=30"}, 4), HasSubstr("model.mlp is 30"));
}

TEST(RunConfig, WhatARecipesOwnRuleCutsIsNotHeldToTheUsualOne) {
  EXPECT_EQ(mesh_error({"mesh.tensor=4", "model.mlp=30", "axis_rules={mlp: []}"}, 4), "");
  EXPECT_THAT(mesh_error({"mesh.tensor=4", "model.mlp=30", "axis_rules={vocab: []}"}, 4),
              HasSubstr("model.mlp is 30"));
}

TEST(RunConfig, HeadsThatDoNotFitAreAnErrorWithTheirPlaces) {
  EXPECT_EQ(load_error({"model.kv_heads=3"}),
            "model: heads is 8, which is no multiple of kv_heads, 3: each key head serves the same "
            "number of query heads "
            "(kv_heads: command line)");
  EXPECT_THAT(load_error({"model.embed=500"}),
              HasSubstr("embed is 500, which is no multiple of heads, 8"));
  EXPECT_THAT(load_error({"model.head_dim=63"}), HasSubstr("must be even"));
}

TEST(RunConfig, AVocabularyThatDoesNotFitTheModelSaysWhichSizeWould) {
  RunConfig config;
  config.data.store = "runs/tokens";
  EXPECT_TRUE(config.validate_vocabulary(8192).ok());
  EXPECT_EQ(from_absl(config.validate_vocabulary(8193).message()),
            "model.vocab_size is 8192, but the tokenizer of runs/tokens has 8193 tokens: set "
            "model.vocab_size=8193 or "
            "more, or build a smaller store");
}

TEST(RunConfig, AScheduleThatDoesNotFitTheStepsIsAnError) {
  EXPECT_THAT(load_error({"training.steps=10", "schedule.warmup_steps=11"}),
              HasSubstr("schedule.warmup_steps is 11, but there are 10 steps (schedule.steps, else "
                        "training.steps) "
                        "(schedule.warmup_steps: command line, training.steps: command line)"));
}

TEST(RunConfig, ABadRegularExpressionIsAnErrorThatShowsIt) {
  EXPECT_THAT(load_error({"optimizer.no_decay=norm|("}),
              HasSubstr("optimizer: no_decay is \"norm|(\""));
}

TEST(RunConfig, AnAxisRuleTakesThePlaceOfTheUsualOne) {
  RunConfig config;
  ASSERT_TRUE(
      load_config(config, "", std::vector<std::string>{"axis_rules.mlp=[tensor, fsdp]"}).ok());
  std::map<std::string, std::vector<std::string>> axes;
  const AxisRules rules = config.resolved_axis_rules();
  for (const AxisRule& rule : rules.rules()) axes[rule.name] = rule.axes;
  EXPECT_THAT(axes["mlp"], ::testing::ElementsAre("tensor", "fsdp"));
  EXPECT_THAT(axes["vocab"], ::testing::ElementsAre("tensor"));
}

TEST(RunConfig, AnAxisRuleForAnUnknownDimensionOrAxisNamesTheNearest) {
  EXPECT_EQ(
      load_error({"axis_rules.mpl=[fsdp]"}),
      "axis_rules: no dimension is called mpl; the nearest is mlp (axis_rules: command line)");
  EXPECT_THAT(load_error({"axis_rules.mlp=[fsdb]"}),
              HasSubstr("no mesh axis is called fsdb; the nearest is fsdp"));
  EXPECT_THAT(load_error({"axis_rules.mlp=[x]"}), HasSubstr("there are diloco, data, stage"));
}

TEST(RunConfig, EveryKeyHasAHelpText) {
  RunConfig config;
  ConfigFields fields(config);
  for (const std::string& path : fields.paths())
    EXPECT_FALSE(fields.find(path)->help_text().empty()) << path;
}

TEST(RunConfig, TheResolvedTextReadsBackAsTheSameRun) {
  RunConfig config;
  const std::vector<std::string> overrides = {"model.head_dim=32", "data.store=a b",
                                              "training.dtype=f32", "schedule.kind=wsd",
                                              "optimizer.no_decay=norm|bias$"};
  ASSERT_TRUE(load_config(config, "", overrides).ok());
  const std::string text = ConfigFields(config).to_yaml();
  RunConfig again;
  ConfigFields fields(again);
  ASSERT_TRUE(fields.apply(*parse_yaml(text, "config.yaml")).ok());
  EXPECT_EQ(fields.to_yaml(), text);
}

}  // namespace
}  // namespace tessera
