// What a user may get wrong: each ends with one message that names the culprit, and a nonzero exit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/program.h"

namespace tessera::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct BadSetting {
  std::vector<std::string> overrides;
  int exit_code;
  std::vector<std::string> says;
};

TEST(BadInput, WrongSettingsAreRefusedBeforeAnythingIsDone) {
  const Workspace workspace;
  const std::vector<BadSetting> cases = {
      {{"model.layer=2"}, 2, {"model.layer", "model.layers"}},
      {{"modle.layers=2"}, 2, {"modle.layers", "the nearest is model.layers"}},
      {{"model.layers=two"}, 2, {"model.layers", "two"}},
      {{"model.layers=0"}, 2, {"model.layers", "0"}},
      {{"model.kv_heads=3"}, 2, {"kv_heads"}},
      {{"plugin.devices=3", "ici_data_parallelism=2"}, 2, {"ici_data_parallelism=2", "3 devices"}},
      {{"plugin.devices=4", "ici_fsdp_parallelism=4", "training.batch_size=6"},
       2,
       {"batch_size", "6"}},
      {{"plugin.devices=4", "ici_tensor_parallelism=4"}, 2, {"kv_heads"}},
      {{"model.family=mixtral", "model.experts_per_token=9"},
       2,
       {"experts_per_token is 9", "there are 8 experts", "experts_per_token=8"}},
      {{"model.family=mixtral", "model.capacity_factor=0"}, 2, {"capacity_factor is 0", "1.25"}},
      {{"model.family=mixtral", "model.capacity_factor=-1"}, 2, {"capacity_factor is -1", "null"}},
      {{"plugin.devices=4", "ici_expert_parallelism=4", "model.family=mixtral", "model.experts=6"},
       2,
       {"model.experts is 6", "expert=4", "8"}},
      {{"model.experts=4"}, 2, {"family is llama", "family=mixtral"}},
      {{"plugin.devices=4", "ici_context_parallelism=4", "training.sequence_length=36"},
       2,
       {"training.sequence_length is 36", "40"}},
      {{"plugin.devices=2", "ici_pipeline_parallelism=2", "training.pipeline_microbatches=3"},
       2,
       {"training.pipeline_microbatches is 3", "use 4"}},
      {{"plugin.devices=2", "ici_pipeline_parallelism=2", "training.batch_size=7"},
       2,
       {"training.batch_size is 7", "microbatches", "8"}},
      {{"plugin.devices=2", "ici_pipeline_parallelism=2", "training.pipeline_repeats=3"},
       2,
       {"model.layers is ", "pipeline_repeats=3", "such as 6"}},
      {{"optimizer.no_decay=" + std::string(20000, '(')}, 2, {"no_decay", "20000"}},
      {{"training.gradient_accumulation_steps=3"},
       2,
       {"batch_size is 8", "gradient_accumulation_steps", "such as 9"}},
      {{"training.gradient_accumulation_steps=9223372036854775807"},
       2,
       {"gradient_accumulation_steps=8 or a divisor"}},
      {{"optimizer.b2=1"}, 2, {"optimizer.b2 is \"1\"", "from 0 to 0.9999999"}},
      {{"training.gradient_accumulation_steps=4", "plugin.devices=4", "ici_fsdp_parallelism=4"},
       2,
       {"training.batch_size", "training.gradient_accumulation_steps=4", "16"}},
      {{"optimizer.trainable=nothing"}, 2, {"optimizer.trainable", "embedding.table"}},
      {{"optimizer.kind=sgd", "optimizer.momentum=1"}, 2, {"optimizer.momentum", "1"}},
      {{"training.remat=custom"}, 2, {"remat_names", "query_proj"}},
      {{"training.remat=minimal_offloaded"}, 2, {"CPU", "use training.remat=minimal instead"}},
      {{"training.remat=custom", "training.remat_offload_names=[context]"},
       2,
       {"CPU", "use training.remat_names instead"}},
      {{"training.target_eval_loss=1"}, 2, {"target_eval_loss", "eval_interval"}},
      {{"plugin.name=nosuch"}, 2, {"plugin.name: unknown plugin 'nosuch'", "cpu, cuda"}},
      {{"data.chat_template.user=x"}, 2, {"user", "{content}"}},
      {{"output_directory=${TESSERA_NOT_SET}/run"}, 2, {"output_directory", "TESSERA_NOT_SET"}},
  };
  for (const BadSetting& bad : cases) {
    const Ended ended = workspace.train(bad.overrides);
    EXPECT_EQ(ended.exit_code, bad.exit_code) << bad.overrides[0] << "\n" << ended.err;
    for (const std::string& part : bad.says)
      EXPECT_THAT(ended.err, HasSubstr(part)) << bad.overrides[0];
    EXPECT_FALSE(std::filesystem::exists(workspace.path("run"))) << bad.overrides[0];
  }
}

TEST(BadInput, ADimensionThatAnAxisCannotCutIsNamed) {
  const Workspace workspace;
  std::vector<std::string> settings = {"plugin.devices=2", "ici_fsdp_parallelism=1",
                                       "ici_tensor_parallelism=2", "model.mlp=65",
                                       "training.steps=2"};
  const auto train = [&](const char* setting) {
    std::vector<std::string> all = settings;
    all.push_back(setting);
    return workspace.train(all);
  };
  const Ended strict = train("strict_sharding=true");
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_THAT(strict.err, AllOf(HasSubstr("params.layers.mlp"), HasSubstr("65"),
                                HasSubstr("tensor=2"), HasSubstr("strict_sharding")));
  const Ended too_much = train("sharding_tolerance=0.02");
  EXPECT_EQ(too_much.exit_code, 2);
  EXPECT_THAT(too_much.err, AllOf(HasSubstr("params.layers.mlp"), HasSubstr("sharding_tolerance")));
  // What training refuses so late that it can be shown is shown, and refused.
  settings.insert(settings.begin(), {"mesh", "recipe.yaml", "sharding_tolerance=0.02"});
  const Ended shown = workspace.run(settings);
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_THAT(shown.out, HasSubstr("whole along"));
  EXPECT_THAT(shown.err, AllOf(HasSubstr("params.layers.mlp"), HasSubstr("sharding_tolerance")));
  settings.erase(settings.begin(), settings.begin() + 3);
  const Ended tolerated = train("sharding_tolerance=1");
  EXPECT_EQ(tolerated.exit_code, 0) << tolerated.err;
  EXPECT_THAT(tolerated.err, AllOf(HasSubstr("params.layers.mlp"), HasSubstr("tensor=2")));
}

TEST(BadInput, AnUnknownKeyNamesTheLineOfTheRecipe) {
  const Workspace workspace;
  workspace.write("bad.yaml", "output_directory: run\nmodel:\n  layer: 2\n");
  const Ended ended = workspace.run({"train", "bad.yaml"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("bad.yaml:3"), HasSubstr("layer"), HasSubstr("layers")));
}

TEST(BadInput, AMissingOrEmptyCorpusIsNamed) {
  const Workspace workspace;
  const Ended missing = workspace.train({"data.corpus=[nowhere]"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("nowhere"));
  std::filesystem::create_directories(workspace.path("empty"));
  const Ended empty = workspace.train({"data.corpus=[empty]"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_THAT(empty.err, HasSubstr("empty"));
}

TEST(BadInput, BytesThatAreNotUtf8AreReplacedAndCounted) {
  const Workspace workspace;
  workspace.write("corpus/bad.txt", "good \xff\xfe text \xc3( end\n");
  const Ended ended =
      workspace.run({"data", "build", "corpus", "--output", "store", "--tokenizer", "bytes"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("not UTF-8"));
}

TEST(BadInput, AVocabularyThatDoesNotFitTheModelIsRefused) {
  const Workspace workspace;
  const Ended ended = workspace.train({"model.vocab_size=100"});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("vocab_size"), HasSubstr("100")));
}

TEST(BadInput, ATokenStoreCutShortIsNamedAndNotRebuilt) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2", "checkpoint.enabled=false"}).exit_code, 0);
  std::string largest;
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path("tokens"))) {
    if (largest.empty() || entry.file_size() > std::filesystem::file_size(largest))
      largest = entry.path().string();
  }
  const auto size = std::filesystem::file_size(largest);
  std::filesystem::resize_file(largest, size - 3);
  const Ended ended = workspace.train({});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr(std::filesystem::path(largest).filename().string()),
                               HasSubstr(std::to_string(size - 3))));
}

TEST(BadInput, AModelThatNoMemoryHoldsIsRefusedBeforeItIsMade) {
  const Workspace workspace;
  const Ended ended =
      workspace.train({"model.layers=1000", "model.embed=16384", "model.mlp=65536"});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("TiB of memory"), HasSubstr("smaller model")));
}

TEST(BadInput, ACheckpointOfAnotherModelNamesTheParameter) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2"}).exit_code, 0);
  const std::string config = workspace.read("run/config.yaml");
  const Ended ended = workspace.train({"model.mlp=128"});
  EXPECT_EQ(workspace.read("run/config.yaml"), config);  // is that of the run still
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("params.layers.mlp"), HasSubstr("output_directory")));
}

TEST(BadInput, ACheckpointWithMoreThanTheModelNamesTheParameter) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=2"}).exit_code, 0);
  for (const char* command : {"train", "generate"}) {
    const Ended ended = workspace.run({command, "recipe.yaml", "model.tied_embeddings=true"});
    EXPECT_EQ(ended.exit_code, 1) << command;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("head.kernel"), HasSubstr("output_directory")))
        << command;
  }
}

TEST(BadInput, OutputThatCannotBeWrittenIsAnErrorAndLandsInNoOtherFile) {
  const Workspace workspace;
  for (const char* redirection : {">/dev/full", ">&-"}) {
    const Ended ended =
        workspace.shell(std::string("\"$tessera\" mesh recipe.yaml ") + redirection);
    EXPECT_EQ(ended.exit_code, 1) << redirection;
    EXPECT_THAT(ended.err, HasSubstr("standard output")) << redirection;
  }
  const Ended ended = workspace.shell(
      "exec <&- >&- 2>&-; \"$tessera\" data build corpus --output store --tokenizer bytes");
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_EQ(workspace.run({"data", "stat", "store"}).exit_code, 0);
}

TEST(BadInput, APluginThatIsNotThereListsWhereItWasLookedFor) {
  const Workspace workspace;
  const Ended ended = workspace.train({"plugin.name=/nowhere/plugin.so"});
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("plugin.name: "), HasSubstr("/nowhere/plugin.so")));
}

// A real file system that is full, of 2000 KiB on the workspace's folder run. Root mounts it;
// others may where the system lets them have name spaces of their own.
constexpr char kSmallDisk[] = R"(
mount_here='mount -t tmpfs -o size=2000k tmpfs run 2>/dev/null'
script='"$0" train recipe.yaml checkpoint.interval=4 logging.tensorboard=false; code=$?
        "$0" checkpoint ls run; exit $code'
for wrap in "unshare --mount" "unshare --user --map-root-user --mount"; do
  if $wrap sh -c "$mount_here" 2>/dev/null; then
    exec $wrap sh -c "$mount_here; $script" "$tessera"
  fi
done
exit 77)";

TEST(BadInput, AFullDiskCostsASaveButNotTheRunNorTheOlderCheckpoint) {
  const Workspace workspace;
  std::filesystem::create_directories(workspace.path("run"));
  // One checkpoint of this model takes about 1.3 MB in whole blocks: the first fits, no second one
  // does beside it.
  const Ended ended = workspace.shell(kSmallDisk);
  if (ended.exit_code == 77) GTEST_SKIP() << "may not mount a small file system here";
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("saving step"), HasSubstr("step 12/12")));
  EXPECT_THAT(ended.out, HasSubstr("step 4 "));
}

// The same from a limit that anyone may set: no file longer than 16 KiB, as a quota would have it.
TEST(BadInput, AFileThatMayNotGrowCostsASaveButNotTheRunNorTheOlderCheckpoint) {
  const Workspace workspace;
  ASSERT_EQ(workspace.train({"training.steps=4", "schedule.steps=12"}).exit_code, 0);
  const Ended ended = workspace.shell(
      "ulimit -f 32\n"
      "\"$tessera\" train recipe.yaml checkpoint.interval=4 logging.tensorboard=false "
      "logging.json=false");
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, AllOf(HasSubstr("saving step 8"), HasSubstr("File too large"),
                               HasSubstr("step 12/12")));
  const Ended verify = workspace.run({"checkpoint", "verify", "run"});
  EXPECT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_FALSE(std::filesystem::exists(workspace.path("run/checkpoints/8")));
}

}  // namespace
}  // namespace tessera::e2e
