#include "tessera/train/elastic_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/strings.h"
#include "tessera/train/layout.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// "data=2, fsdp=2 x 1": the mesh and the accumulation steps of each fit.
std::vector<std::string> fits(std::vector<std::string> overrides, int64_t devices, int64_t all,
                              int64_t slices = 1) {
  RunConfig config;
  const Status loaded = load_config(config, "", overrides);
  CHECK_MSG(loaded.ok(), std::string(from_absl(loaded.message())));
  MeshConfig cut;
  cut.num_slices = slices;
  const Slices present = *cut.slices(devices);
  const auto found = fits_for_fewer(config, present, all);
  CHECK_MSG(found.ok(), std::string(from_absl(found.status().message())));
  std::vector<std::string> texts;
  for (const RunConfig& fit : *found) {
    const MeshConfig resolved = *fit.mesh.resolved(present);
    texts.push_back(str_cat(to_string(*resolved.mesh(present)), " x ",
                            fit.training.gradient_accumulation_steps));
  }
  return texts;
}

const std::string kBatch = "training.batch_size=24";

TEST(ElasticMesh, NoDeviceHoldsMoreWhereThatCanBe) {
  EXPECT_THAT(fits({kBatch, "ici_data_parallelism=2", "ici_fsdp_parallelism=4"}, 6, 8),
              ElementsAre("fsdp=6 x 2", "data=2, fsdp=3 x 2", "data=3, fsdp=2 x 2", "data=6 x 2"));
  EXPECT_THAT(fits({kBatch}, 3, 4), ElementsAre("fsdp=3 x 2", "data=3 x 2"));
}

TEST(ElasticMesh, TheGlobalBatchStaysAndNoDeviceComputesMoreRowsAtOnce) {
  // 24 rows over 8 devices are 3 a device; over 2 they are 12, in 4 parts.
  EXPECT_THAT(fits({kBatch, "ici_data_parallelism=8", "ici_fsdp_parallelism=1"}, 2, 8),
              ElementsAre("data=2 x 4", "fsdp=2 x 4"));
  EXPECT_THAT(fits({kBatch, "training.gradient_accumulation_steps=3"}, 1, 2),
              ElementsAre("1 device x 6"));
  EXPECT_THAT(fits({"training.batch_size=8"}, 3, 4), IsEmpty()) << "8 rows over 3 devices";
}

TEST(ElasticMesh, OtherAxesStayAsTheyAre) {
  EXPECT_THAT(fits({kBatch, "ici_tensor_parallelism=2"}, 4, 8),
              ElementsAre(HasSubstr("tensor=2"), HasSubstr("tensor=2")));
  EXPECT_THAT(fits({kBatch, "ici_tensor_parallelism=4"}, 6, 8), IsEmpty());
}

TEST(ElasticMesh, WithProcessesAsSlicesTheAxesAcrossThemShrink) {
  const std::vector<std::string> settings = {kBatch, "slices_from=process",
                                             "ici_fsdp_parallelism=2", "dcn_data_parallelism=4"};
  EXPECT_THAT(fits(settings, 6, 8, 3),
              ElementsAre("data=3, fsdp=2 x 2", "fsdp=6 x 2", "data=2, fsdp=3 x 2", "data=6 x 2"));
}

TEST(ElasticMesh, WithAllOfThemItIsTheRecipesOwn) {
  EXPECT_EQ(fits({kBatch, "ici_data_parallelism=2", "ici_fsdp_parallelism=2"}, 4, 4).front(),
            "data=2, fsdp=2 x 1");
}

TEST(ElasticMesh, AxesOfTheRecipesOwnAreRefused) {
  RunConfig config;
  ASSERT_TRUE(
      load_config(config, "", std::vector<std::string>{"mesh_axes=[model]", "ici_parallelism=[2]"})
          .ok());
  const auto found = fits_for_fewer(config, Slices{{0}}, 2);
  EXPECT_THAT(std::string(from_absl(found.status().message())), HasSubstr("mesh_axes"));
}

}  // namespace
}  // namespace tessera
