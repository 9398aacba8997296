#include "tessera/train/mesh_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tessera/base/strings.h"
#include "tessera/train/config.h"
#include "tessera/train/layout.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

struct Made {
  MeshConfig config;
  std::optional<Layout> layout;
  std::string error;
};

Made make(std::vector<std::string> overrides, int64_t devices) {
  RunConfig config;
  const Status loaded = load_config(config, "", overrides);
  if (!loaded.ok()) return {{}, {}, std::string(from_absl(loaded.message()))};
  const auto slices = config.mesh.slices(devices);
  if (!slices.ok()) return {{}, {}, std::string(from_absl(slices.status().message()))};
  const auto resolved = config.mesh.resolved(*slices);
  if (!resolved.ok()) return {{}, {}, std::string(from_absl(resolved.status().message()))};
  auto layout = make_layout(*resolved, *slices);
  if (!layout.ok()) return {{}, {}, std::string(from_absl(layout.status().message()))};
  const Status fits = config.validate_mesh(layout->mesh);
  return {*resolved, *layout, std::string(from_absl(fits.message()))};
}

std::string error_of(std::vector<std::string> overrides, int64_t devices) {
  return make(std::move(overrides), devices).error;
}

TEST(MeshConfig, ByDefaultAllDevicesOfASliceShardTheWeights) {
  const Made made = make({}, 8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(to_string(made.layout->mesh), "fsdp=8");
}

TEST(MeshConfig, ByDefaultEachSliceIsADataParallelGroup) {
  const Made made = make({"num_slices=2"}, 8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(to_string(made.layout->mesh), "data=2, fsdp=4");
  EXPECT_EQ(*batch_shards(*made.layout), 8);
}

TEST(MeshConfig, ResolvedHasNoMinusOne) {
  const Made made = make({"num_slices=2", "ici_tensor_parallelism=2"}, 8);
  ASSERT_EQ(made.error, "");
  for (const AxisDegrees& axis : made.config.degrees) {
    EXPECT_GE(axis.ici, 1) << axis.name;
    EXPECT_GE(axis.dcn, 1) << axis.name;
  }
}

TEST(MeshConfig, ASingleSliceMayBeSplitIntoReplicas) {
  const Made made = make({"single_slice_replicas=2"}, 8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(to_string(made.layout->mesh), "data=2, fsdp=4");
  EXPECT_THAT(error_of({"single_slice_replicas=3"}, 8),
              HasSubstr("single_slice_replicas is 3, which does not divide the 8 devices"));
}

TEST(MeshConfig, StagesStandBeforeDataWhenThereAreSome) {
  const Made made = make({"ici_pipeline_parallelism=2", "ici_data_parallelism=2"}, 8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(to_string(made.layout->mesh), "stage=2, data=2, fsdp=2");
}

TEST(MeshConfig, WhatDoesNotFitTheDevicesNamesTheKeys) {
  EXPECT_EQ(error_of({"ici_data_parallelism=2", "ici_fsdp_parallelism=2"}, 3),
            "mesh, inside a slice (ici): ici_data_parallelism=2 x ici_fsdp_parallelism=2 makes 4, "
            "and there are 3 devices: use a product of 3, such as ici_data_parallelism=3 "
            "ici_fsdp_parallelism=1");
  EXPECT_THAT(error_of({"ici_data_parallelism=-1"}, 4),
              HasSubstr("ici_data_parallelism and ici_fsdp_parallelism are -1"));
  EXPECT_THAT(error_of({"dcn_tensor_parallelism=2"}, 4),
              HasSubstr("dcn_tensor_parallelism=2, but there is one slice"));
  EXPECT_THAT(error_of({"num_slices=3"}, 4), HasSubstr("num_slices=3"));
}

TEST(MeshConfig, DevicesThatARecipeAsksForAreCheckedWithItsPlaces) {
  EXPECT_THAT(error_of({"plugin.devices=4", "ici_data_parallelism=3"}, 4),
              AllOf(HasSubstr("ici_data_parallelism=3"), HasSubstr("command line")));
}

TEST(MeshConfig, KeysWithoutAnAxisAreOne) {
  EXPECT_THAT(error_of({"ici_sequence_parallelism=2"}, 2), HasSubstr("ici_context_parallelism"));
  EXPECT_THAT(error_of({"ici_diloco_parallelism=2"}, 2), HasSubstr("use 1"));
  EXPECT_THAT(error_of({"ici_fsdp_paralelism=2"}, 2),
              HasSubstr("the nearest is ici_fsdp_parallelism"));
}

TEST(MeshConfig, ARecipesOwnAxesAndRules) {
  const std::vector<std::string> own = {
      "mesh_axes=[replica, model]", "ici_parallelism=[-1, 2]", "override_axis_rules=true",
      "axis_rules={activation_batch: [replica], mlp: [model], q_heads: [model], kv_heads: [model], "
      "activation_length: []}"};
  const Made made = make(own, 8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(to_string(made.layout->mesh), "replica=4, model=2");
  EXPECT_EQ(*batch_shards(*made.layout), 4);
}

TEST(MeshConfig, ARecipesOwnAxesNeedAListOfDegreesAndRulesThatFit) {
  EXPECT_THAT(error_of({"mesh_axes=[a, b]", "ici_parallelism=[2]"}, 2),
              HasSubstr("ici_parallelism has 1 degrees, and mesh_axes names 2 axes"));
  EXPECT_THAT(error_of({"ici_parallelism=[2]"}, 2), HasSubstr("mesh_axes is empty"));
  EXPECT_THAT(error_of({"mesh_axes=[a]", "ici_parallelism=[2]", "ici_tensor_parallelism=2"}, 2),
              HasSubstr("remove the ici_<axis>_parallelism"));
  EXPECT_THAT(error_of({"mesh_axes=[a, a]", "ici_parallelism=[2, 1]"}, 2),
              HasSubstr("mesh_axes names a twice"));
  EXPECT_THAT(error_of({"mesh_axes=[a b]", "ici_parallelism=[2]"}, 2), HasSubstr("'a b'"));
  EXPECT_THAT(error_of({"override_axis_rules=true"}, 2), HasSubstr("axis_rules is empty"));
}

TEST(MeshConfig, TheUsualRulesActOnOwnAxesAsFarAsTheyNameThem) {
  const Made made = make({"mesh_axes=[fsdp, model]", "ici_parallelism=[-1, 2]",
                          "axis_rules={mlp: model, q_heads: [model]}"},
                         8);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(*batch_shards(*made.layout), 4);
  const auto spec =
      made.layout->rules.resolve(std::vector<std::string>{"embed", "mlp"}, made.layout->mesh);
  EXPECT_EQ(to_string(*spec, 2), "[fsdp,model]");
}

TEST(MeshConfig, AWholeTableLeavesWhatItDoesNotNameWhole) {
  const Made made = make({"axis_rules={mlp: [fsdp]}", "override_axis_rules=true"}, 4);
  ASSERT_EQ(made.error, "");
  EXPECT_EQ(*batch_shards(*made.layout), 1);
  const auto spec =
      made.layout->rules.resolve(std::vector<std::string>{"embed", "mlp"}, made.layout->mesh);
  EXPECT_EQ(to_string(*spec, 2), "[_,fsdp]");
}

TEST(MeshConfig, WhatIsProposedFits) {
  EXPECT_THAT(
      error_of({"ici_fsdp_parallelism=1"}, 8),
      AllOf(HasSubstr("the degrees are all 1"), HasSubstr("such as ici_data_parallelism=8")));
  EXPECT_THAT(error_of({"num_slices=2", "dcn_data_parallelism=1"}, 8),
              HasSubstr("such as dcn_data_parallelism=2"));
  EXPECT_THAT(error_of({"mesh_axes=[a, b]", "ici_parallelism=[3, 3]"}, 8),
              HasSubstr("such as ici_parallelism=[8, 1]"));
  EXPECT_THAT(error_of({"mesh_axes=[a, b]", "ici_parallelism=[3, -1]"}, 8),
              HasSubstr("such as ici_parallelism=[2, -1]"));
  EXPECT_THAT(error_of({"ici_fsdp_parallelism=1M", "ici_data_parallelism=1M",
                        "ici_tensor_parallelism=1M", "ici_context_parallelism=1M"},
                       8),
              HasSubstr("more than there are integers"));
}

TEST(MeshConfig, RulesOfARecipeStandInForThoseOfTheSameName) {
  const Made made = make({"axis_rules={embed: [[tensor, fsdp], [fsdp]], mlp: []}"}, 1);
  ASSERT_EQ(made.error, "");
  std::multimap<std::string, std::vector<std::string>> rules;
  for (const AxisRule& rule : made.layout->rules.rules()) rules.emplace(rule.name, rule.axes);
  EXPECT_EQ(rules.count("embed"), 2u);
  EXPECT_EQ(rules.find("embed")->second, (std::vector<std::string>{"tensor", "fsdp"}));
  EXPECT_TRUE(rules.find("mlp")->second.empty());
}

TEST(MeshConfig, ARuleForAnUnknownNameOrAxisIsAnError) {
  EXPECT_THAT(error_of({"axis_rules.mpl=[fsdp]"}, 1),
              HasSubstr("axis_rules: no dimension is called mpl; the nearest is mlp"));
  EXPECT_THAT(error_of({"axis_rules.mlp=[fsdb]"}, 1),
              HasSubstr("axis_rules: (mlp) no mesh axis is called fsdb; the nearest is fsdp"));
  EXPECT_THAT(error_of({"axis_rules.mlp=[fsdp, fsdp]"}, 1),
              HasSubstr("axis_rules: (mlp) names the mesh axis fsdp twice"));
  EXPECT_THAT(error_of({"axis_rules={mlp: [[fsdp], tensor]}"}, 1),
              HasSubstr("axis_rules.mlp is [a list, \"tensor\"]"));
}

TEST(RunConfig, WhatTheMeshCannotCutEvenlyIsNamedWithAMultiple) {
  EXPECT_EQ(error_of({"training.batch_size=6"}, 4),
            "training.batch_size is 6, which cannot be cut into 4 equal parts (mesh axes fsdp=4): "
            "use a multiple, such as 8, or smaller degrees");
  EXPECT_THAT(error_of({"ici_tensor_parallelism=4", "model.kv_heads=2"}, 4),
              HasSubstr("model.kv_heads is 2"));
  EXPECT_THAT(error_of({"ici_context_parallelism=4", "training.sequence_length=30"}, 4),
              HasSubstr("training.sequence_length is 30"));
}

TEST(DeviceSlices, AreWhatTheDevicesSayOrTheirProcessesOrANumber) {
  const std::vector<DevicePlace> devices = {{0, 1, 0}, {1, 0, 0}, {2, 1, 1}, {3, 0, 1}};
  MeshConfig config;
  EXPECT_EQ(*device_slices(devices, config), (Slices{{1, 3}, {0, 2}}));
  config.slices_from = MeshConfig::SlicesFrom::kProcess;
  EXPECT_EQ(*device_slices(devices, config), (Slices{{0, 1}, {2, 3}}));
  config.num_slices = 4;
  EXPECT_EQ(*device_slices(devices, config), (Slices{{0}, {1}, {2}, {3}}));
}

TEST(DeviceSlices, DevicesThatSayNothingAreOneSlice) {
  const std::vector<DevicePlace> devices = {{0, {}, 0}, {1, {}, 1}};
  EXPECT_EQ(*device_slices(devices, {}), (Slices{{0, 1}}));
}

TEST(DeviceSlices, OfDifferentSizesAreAnError) {
  const std::vector<DevicePlace> devices = {{0, 0, 0}, {1, 0, 0}, {2, 1, 0}};
  EXPECT_THAT(std::string(from_absl(device_slices(devices, {}).status().message())),
              HasSubstr("one slice has 2 devices and another 1"));
}

std::vector<ArgumentSpec> params() {
  return {{"params.big", Shape{DType::kF32, {1000, 64}}, {"vocab", "embed"}},
          {"params.odd", Shape{DType::kF32, {65, 3}}, {"mlp", "embed"}},
          {"optimizer.mu.big", Shape{DType::kF32, {1000, 64}}, {"vocab", "embed"}}};
}

TEST(Layout, AnAxisThatDoesNotDivideADimensionIsLeftOutAndNamed) {
  const Made made = make({"ici_tensor_parallelism=2"}, 4);
  const auto odd = lay_out(params()[1], *made.layout);
  ASSERT_TRUE(odd.ok());
  EXPECT_TRUE(odd->sharding.is_fully_replicated());
  const auto unused = unused_axes(params(), *made.layout);
  ASSERT_EQ(unused->size(), 2u);
  EXPECT_EQ(to_string((*unused)[1]),
            "params.odd: dimension 0 of 65 cannot be split over tensor=2 and stays whole along it");
}

TEST(Layout, StrictShardingKeepsTheAxisSoThatLayingOutFails) {
  const Made made = make({"ici_tensor_parallelism=2", "strict_sharding=true"}, 4);
  EXPECT_THAT(std::string(from_absl(lay_out(params()[1], *made.layout).status().message())),
              AllOf(HasSubstr("params.odd"), HasSubstr("65")));
}

TEST(Layout, StrictShardingSaysWhatWouldFit) {
  const Made made = make({"ici_tensor_parallelism=2"}, 4);
  EXPECT_TRUE(check_strict_sharding({}).ok());
  const auto unused = unused_axes(params(), *made.layout);
  ASSERT_EQ(unused->size(), 2u);
  const Status strict = check_strict_sharding(std::span(*unused).last(1));
  EXPECT_THAT(std::string(from_absl(strict.message())),
              AllOf(HasSubstr("params.odd: dimension 0 (mlp) of 65"), HasSubstr("such as 66"),
                    HasSubstr("strict_sharding=false")));
}

TEST(Layout, AnOwnAxisThatNoRuleForAParameterNamesIsForCopies) {
  const Made made = make({"mesh_axes=[replica, model]", "ici_parallelism=[2, 2]",
                          "axis_rules={vocab: model, activation_batch: replica}"},
                         4);
  ASSERT_EQ(made.error, "");
  const auto replicated = replicated_params(params(), *made.layout);
  ASSERT_EQ(replicated->size(), 1u);
  EXPECT_EQ((*replicated)[0].path, "params.odd");
  EXPECT_EQ((*replicated)[0].axes, std::vector<std::string>{"model"});
}

TEST(Layout, WhatIsWholeAlongAnAxisCountsInBytes) {
  const Made made = make({"ici_tensor_parallelism=2"}, 4);
  // params.odd holds 780 of 256780 bytes: 0.3 %.
  EXPECT_TRUE(check_sharding_tolerance(params(), *made.layout, 0.004).ok());
  const Status exceeded = check_sharding_tolerance(params(), *made.layout, 0.003);
  EXPECT_THAT(
      std::string(from_absl(exceeded.message())),
      AllOf(HasSubstr("0.3 %"), HasSubstr("params.odd [_,_], 780 bytes, whole along fsdp, tensor"),
            HasSubstr("sharding_tolerance=0.01")));
}

TEST(Layout, OptimizerStateMayBeCutOverDataToo) {
  const Made made = make({"ici_data_parallelism=2", "shard_optimizer_over_data=true"}, 4);
  const auto param = lay_out(params()[0], *made.layout);
  const auto moment = lay_out(params()[2], *made.layout);
  EXPECT_EQ(to_string(param->sharding.spec(), 2), "[_,fsdp]");
  EXPECT_EQ(to_string(moment->sharding.spec(), 2), "[data,fsdp]");
}

}  // namespace
}  // namespace tessera
