#include "tessera/train/parallel_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/train/axis_rules.h"

namespace tessera {
namespace {

Mesh mesh_of(std::vector<MeshAxis> axes) {
  for (const char* name :
       {"diloco", "data", "stage", "fsdp", "fsdp_transpose", "context", "context_usp_ulysses",
        "context_autoregressive", "tensor", "tensor_sequence", "expert", "autoregressive"}) {
    bool has = false;
    for (const MeshAxis& axis : axes) has |= axis.name == name;
    if (!has) axes.push_back({name, 1});
  }
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  return *Mesh::create(axes, devices);
}

std::string context_error(const TrainingConfig& training, const Mesh& mesh) {
  return std::string(validate_context(training, mesh, default_axis_rules()).message());
}

std::string pipeline_error(const TrainingConfig& training, int64_t layers, const Mesh& mesh,
                           int64_t shards = 1) {
  return std::string(validate_pipeline(training, layers, mesh, shards).message());
}

TEST(ValidateContext, ABalancedSequenceHasTwoChunksADevice) {
  TrainingConfig training;
  training.sequence_length = 36;
  EXPECT_EQ(context_error(training, mesh_of({{"context", 4}})),
            "training.sequence_length is 36, which cannot be cut into two chunks for each of 4 "
            "devices (mesh axes context): use a multiple of 8, such as 40, or "
            "training.context_parallel_load_balance=false");
  training.context_parallel_load_balance = false;
  EXPECT_EQ(context_error(training, mesh_of({{"context", 4}})), "");
  training.context_parallel_load_balance = true;
  training.sequence_length = 40;
  EXPECT_EQ(context_error(training, mesh_of({{"context", 4}})), "");
  EXPECT_EQ(context_error(training, mesh_of({{"fsdp", 4}})), "");
}

TEST(ValidateContext, ARingGoesAlongOneAxis) {
  TrainingConfig training;
  training.context_parallel_strategy = ContextStrategy::kRing;
  EXPECT_EQ(context_error(training, mesh_of({{"context", 2}, {"context_usp_ulysses", 2}})),
            "training.context_parallel_strategy is ring, which passes keys along the mesh axis "
            "context alone, but the sequence (activation_length_attn) is split over context, "
            "context_usp_ulysses: give the others degree 1, or set "
            "training.context_parallel_strategy=all_gather");
  EXPECT_EQ(context_error(training, mesh_of({{"context", 2}, {"tensor", 2}})), "");
}

TEST(ValidateRing, HasNoWindowAndNoCap) {
  TrainingConfig training;
  LlamaConfig model;
  model.sliding_window = 5;
  const Mesh split = mesh_of({{"context", 2}}), whole = mesh_of({{"fsdp", 2}});
  EXPECT_TRUE(validate_ring(training, model, split).ok());
  training.context_parallel_strategy = ContextStrategy::kRing;
  EXPECT_TRUE(validate_ring(training, model, whole).ok());
  EXPECT_TRUE(validate_ring(training, {}, split).ok());
  EXPECT_EQ(validate_ring(training, model, split).message(),
            "model.sliding_window is 5, which ring attention does not have: use "
            "training.context_parallel_strategy=all_gather");
  model.attention_soft_cap = 2;
  EXPECT_EQ(validate_ring(training, model, split).message(),
            "model.attention_soft_cap is 2, which ring attention does not have: use "
            "training.context_parallel_strategy=all_gather");
}

TEST(SettingsWithoutEffect, AreThoseThatTheMeshHasNoUseFor) {
  RunConfig config;
  EXPECT_TRUE(settings_without_effect(config, mesh_of({{"data", 2}}), 2).empty());
  config.training.pipeline_microbatches = 4;
  config.training.pipeline_repeats = 2;
  config.training.context_parallel_strategy = ContextStrategy::kRing;
  config.mesh.single_slice_replicas = 2;
  EXPECT_THAT(
      settings_without_effect(config, mesh_of({{"data", 2}}), 2),
      ::testing::ElementsAre(
          "training.pipeline_microbatches=4 has no effect: the mesh has one pipeline stage "
          "(ici_pipeline_parallelism)",
          "training.pipeline_repeats=2 has no effect: the mesh has one pipeline stage "
          "(ici_pipeline_parallelism)",
          "training.context_parallel_strategy=ring has no effect: the mesh does not split "
          "sequences (ici_context_parallelism)",
          "single_slice_replicas=2 has no effect: there are 2 slices, which dcn_data_parallelism "
          "makes replicas of"));
  EXPECT_TRUE(settings_without_effect(config, mesh_of({{"stage", 2}, {"context", 2}}), 1).empty());
}

TEST(ValidatePipeline, MicrobatchesAreWholeRoundsOfTheStages) {
  TrainingConfig training;
  training.batch_size = 24;
  training.pipeline_microbatches = 6;
  EXPECT_EQ(pipeline_error(training, 8, mesh_of({{"stage", 4}})),
            "training.pipeline_microbatches is 6, which is no multiple of the 4 stages: use 8");
  training.pipeline_microbatches = -1;
  EXPECT_EQ(pipeline_error(training, 8, mesh_of({{"stage", 4}})), "");
  training.pipeline_microbatches = 6;
  EXPECT_EQ(pipeline_error(training, 7, mesh_of({{"fsdp", 4}})), "");
}

TEST(ValidatePipeline, RowsFillTheMicrobatches) {
  TrainingConfig training;
  training.batch_size = 12;
  training.pipeline_microbatches = 8;
  EXPECT_EQ(pipeline_error(training, 8, mesh_of({{"stage", 4}})),
            "training.batch_size is 12, which cannot be cut into 8 microbatches "
            "(training.pipeline_microbatches) of 1 part: use a multiple of 8, such as 16");
  training.batch_size = 24;
  EXPECT_EQ(pipeline_error(training, 8, mesh_of({{"stage", 4}, {"fsdp", 2}}), 2),
            "training.batch_size is 24, which cannot be cut into 8 microbatches "
            "(training.pipeline_microbatches) of 2 parts (mesh axes of the batch): use a multiple "
            "of 16, such as 32");
}

TEST(ValidatePipeline, LayersFillTheStages) {
  TrainingConfig training;
  EXPECT_EQ(pipeline_error(training, 6, mesh_of({{"stage", 4}})),
            "model.layers is 6, which cannot be cut into 4 equal parts (4 stages x "
            "training.pipeline_repeats=1): use a multiple, such as 8, or fewer stages");
  training.pipeline_repeats = 2;
  EXPECT_EQ(pipeline_error(training, 12, mesh_of({{"stage", 4}})),
            "model.layers is 12, which cannot be cut into 8 equal parts (4 stages x "
            "training.pipeline_repeats=2): use a multiple, such as 16, or "
            "training.pipeline_repeats=1");
  EXPECT_EQ(pipeline_error(training, 16, mesh_of({{"stage", 4}})), "");
}

TEST(ValidateMixtureInPipeline, RefusesWhatTheCompilerCannotSplit) {
  const auto error = [](std::vector<MeshAxis> axes, int64_t shards) {
    return std::string(
        validate_mixture_in_pipeline(mesh_of(axes), default_axis_rules(), shards).message());
  };
  EXPECT_EQ(error({{"stage", 2}, {"fsdp", 2}, {"context", 2}}, 2),
            "model.family is mixtral, whose pipeline (mesh axis stage) XLA cannot compile where "
            "both the batch is split, here into 2 parts, and the sequence, here over context: give "
            "context degree 1, or ici_pipeline_parallelism=1");
  EXPECT_EQ(error({{"fsdp", 2}, {"context", 2}}, 2), "");
  EXPECT_EQ(error({{"stage", 2}, {"context", 2}}, 1), "");
  EXPECT_EQ(error({{"stage", 2}, {"fsdp", 2}, {"tensor", 2}}, 2), "");
}

}  // namespace
}  // namespace tessera
