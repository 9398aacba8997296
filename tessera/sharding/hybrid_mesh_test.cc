#include "tessera/sharding/hybrid_mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

AxisDegrees axis(const char* name, int64_t ici, int64_t dcn = 1) {
  return {.name = name,
          .ici = ici,
          .dcn = dcn,
          .ici_key = str_cat("ici_", name),
          .dcn_key = str_cat("dcn_", name)};
}

std::string error_of(std::vector<AxisDegrees> axes, int64_t per_slice, int64_t slices = 1) {
  const auto resolved = resolve_degrees(std::move(axes), per_slice, slices);
  return resolved.ok() ? "" : std::string(from_absl(resolved.status().message()));
}

std::vector<int64_t> ids(int64_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

TEST(ResolveDegrees, MinusOneOfEachTierTakesWhatTheOthersLeave) {
  const auto axes = resolve_degrees({axis("data", 2, -1), axis("fsdp", -1, 2)}, 8, 6);
  ASSERT_TRUE(axes.ok());
  EXPECT_EQ((*axes)[0].dcn, 3);
  EXPECT_EQ((*axes)[1].ici, 4);
}

TEST(ResolveDegrees, WithOneSliceMinusOneAcrossSlicesIsOne) {
  const auto axes = resolve_degrees({axis("data", 1, -1), axis("fsdp", -1)}, 8, 1);
  ASSERT_TRUE(axes.ok());
  EXPECT_EQ((*axes)[0].dcn, 1);
}

TEST(ResolveDegrees, AProductThatDoesNotFitProposesOneThatDoes) {
  EXPECT_EQ(error_of({axis("data", 2, -1), axis("fsdp", 3)}, 8),
            "mesh, inside a slice (ici): ici_data=2 x ici_fsdp=3 makes 6, and there are 8 devices: "
            "use a product of 8, such as ici_fsdp=4");
  EXPECT_EQ(error_of({axis("data", 1, 3), axis("fsdp", 8)}, 8, 2),
            "mesh, across slices (dcn): dcn_data=3 makes 3, and there are 2 slices: use a product "
            "of 2, such as dcn_data=2");
  EXPECT_EQ(error_of({axis("data", 3, -1), axis("fsdp", 3)}, 8),
            "mesh, inside a slice (ici): ici_data=3 x ici_fsdp=3 makes 9, and there are 8 devices: "
            "use a product of 8, such as ici_data=8 ici_fsdp=1");
}

TEST(ResolveDegrees, WhatIsProposedFits) {
  for (int64_t data : {1, 2, 3, 5, 7}) {
    for (int64_t fsdp : {1, 2, 3, 6}) {
      const std::string error = error_of({axis("data", data), axis("fsdp", fsdp)}, 12);
      if (data * fsdp == 12) {
        EXPECT_EQ(error, "");
        continue;
      }
      std::vector<AxisDegrees> axes = {axis("data", data), axis("fsdp", fsdp)};
      const std::string proposal = error.substr(error.find("such as ") + 8);
      for (AxisDegrees& a : axes) {
        const size_t at = proposal.find(str_cat(a.ici_key, "="));
        if (at != std::string::npos) a.ici = std::stoll(proposal.substr(at + a.ici_key.size() + 1));
      }
      EXPECT_EQ(error_of(axes, 12), "") << error;
    }
  }
}

TEST(ResolveDegrees, DegreesThatLeaveNoWholeNumberAreAnErrorWithADivisor) {
  EXPECT_EQ(error_of({axis("data", 3, -1), axis("fsdp", -1)}, 8),
            "mesh, inside a slice (ici): ici_data=3 makes 3, and there are 8 devices, which leaves "
            "no whole number for ici_fsdp=-1: use a divisor of 8, such as ici_data=2");
  EXPECT_EQ(error_of({axis("data", 1, -1), axis("fsdp", -1, 4)}, 8, 6),
            "mesh, across slices (dcn): dcn_fsdp=4 makes 4, and there are 6 slices, which leaves "
            "no whole number for dcn_data=-1: use a divisor of 6, such as dcn_fsdp=3");
}

TEST(ResolveDegrees, TwoMinusOnesInATierAreAnError) {
  EXPECT_EQ(error_of({axis("data", -1), axis("fsdp", -1)}, 8),
            "mesh, inside a slice (ici): ici_data and ici_fsdp are -1, which takes what the others "
            "leave, so only one axis of a tier may be: set, for example, ici_fsdp=1");
  EXPECT_THAT(error_of({axis("data", 1, -1), axis("fsdp", 1, -1)}, 1, 8),
              ::testing::HasSubstr("across slices (dcn): dcn_data and dcn_fsdp are -1"));
}

TEST(ResolveDegrees, AcrossSlicesWithOneSliceIsAnErrorThatNamesTheKey) {
  EXPECT_EQ(error_of({axis("data", 1, -1), axis("fsdp", -1, 2)}, 8),
            "mesh, across slices (dcn): dcn_fsdp=2, but there is one slice: use dcn_fsdp=1 (or "
            "-1), or say num_slices=2 where the devices are that many");
}

TEST(EvenSlices, DevicesThatTheSlicesDoNotDivideAreAnError) {
  EXPECT_EQ(from_absl(even_slices(ids(10), 4).status().message()),
            "mesh: 10 devices cannot be cut into num_slices=4 slices of one size: use one of 1, 2, "
            "5, 10");
}

TEST(HybridMesh, ASlicesDevicesStayTogetherOnTheInnerAxes) {
  const auto slices = even_slices(ids(8), 2);
  const auto mesh =
      hybrid_mesh(std::vector{axis("data", 1, 2), axis("fsdp", 2), axis("tensor", 2)}, *slices);
  ASSERT_TRUE(mesh.ok());
  EXPECT_THAT(mesh->device_ids(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(HybridMesh, AnAxisOfBothTiersHasTheSlicesOutermost) {
  const auto slices = even_slices(ids(8), 2);
  // fsdp = 2 slices x 2; data = 2 inside a slice.
  const auto mesh = hybrid_mesh(std::vector{axis("data", 2), axis("fsdp", 2, 2)}, *slices);
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->axis_size("fsdp"), 4);
  EXPECT_THAT(mesh->device_ids(), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
}

}  // namespace
}  // namespace tessera
