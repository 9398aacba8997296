#include "tessera/train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

std::string load_error(std::vector<std::string> overrides) {
  RunConfig config;
  return std::string(from_absl(load_config(config, "", overrides).message()));
}

TEST(RunConfig, TheDefaultsAreValidOnOneDevice) {
  RunConfig config;
  EXPECT_TRUE(load_config(config, "", {}).ok());
}

TEST(RunConfig, AModelsOwnKeysStandBesideItsFamily) {
  RunConfig config;
  ASSERT_TRUE(
      load_config(config, "", std::vector<std::string>{"model.layers=3", "model.embed=64"}).ok());
  EXPECT_EQ(config.model.llama.layers, 3);
  EXPECT_EQ(config.model.llama.resolved_head_dim(), 8);
  EXPECT_THAT(load_error({"model.family=lama"}), HasSubstr("the nearest is llama"));
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
            "more, or build a store with fewer");
}

TEST(RunConfig, ASequenceLongerThanTheModelIsMadeForIsAnError) {
  EXPECT_THAT(load_error({"model.max_sequence_length=128"}),
              HasSubstr("training.sequence_length is 256, and the model is made for at most 128 "
                        "(model.max_sequence_length): use training.sequence_length=128 or less"));
  EXPECT_EQ(load_error({"model.max_sequence_length=256"}), "");
}

// What needs slices is checked early only where the recipe alone says what they are.
TEST(RunConfig, AMeshOverSlicesThatAreNotKnownYetIsNoError) {
  const std::string two = "dcn_data_parallelism=2", devices = "plugin.devices=4",
                    fsdp = "ici_fsdp_parallelism=2";
  EXPECT_THAT(load_error({devices, two, fsdp}), HasSubstr("ici_fsdp_parallelism=4"));
  EXPECT_EQ(load_error({devices, two, fsdp, "num_slices=2"}), "");
  EXPECT_EQ(load_error({devices, two, fsdp, "slices_from=process"}), "");
  EXPECT_EQ(load_error({devices, two, fsdp, "plugin.name=tpu"}), "");
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
