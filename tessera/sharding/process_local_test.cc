#include "tessera/sharding/process_local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 4 processes of 2 devices; process p has devices 2p and 2p + 1.
std::vector<int64_t> processes(const NamedSharding& sharding) {
  std::vector<int64_t> result;
  for (int64_t id : sharding.mesh().device_ids()) result.push_back(id / 2);
  return result;
}

NamedSharding sharding(std::vector<MeshAxis> axes, PartitionSpec spec,
                       std::vector<int64_t> ids = {0, 1, 2, 3, 4, 5, 6, 7}) {
  return *NamedSharding::create(*Mesh::create(std::move(axes), std::move(ids)), std::move(spec));
}

Result<ProcessLocalData> fit(const NamedSharding& s, const Dims& local,
                             const std::optional<Dims>& global, int64_t process) {
  return fit_process_local(s, local, global, processes(s), process);
}

std::vector<std::string> boxes(const ProcessLocalData& data) {
  std::vector<std::string> result;
  for (const auto& part : data.parts) result.push_back(to_string(part.box));
  return result;
}

TEST(ProcessLocal, ASplitDimensionIsInferredFromEachProcesssShare) {
  const auto s = sharding({{"data", 8}}, {{{"data"}}});
  const auto data = fit(s, {4, 10}, {}, 2);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->global_dims, (Dims{16, 10}));
  EXPECT_THAT(boxes(*data), ElementsAre("[0:2, 0:10]", "[2:4, 0:10]"));
  EXPECT_EQ(data->parts[0].position, 4);
}

TEST(ProcessLocal, AReplicatedDimensionKeepsItsSize) {
  const auto s = sharding({{"data", 4}, {"model", 2}}, {{{"data"}}});
  const auto data = fit(s, {3, 10}, {}, 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->global_dims, (Dims{12, 10}));
  EXPECT_THAT(boxes(*data), ElementsAre("[0:3, 0:10]", "[0:3, 0:10]"));
}

TEST(ProcessLocal, DataOfTheTensorsSizeIsLookedUpDirectly) {
  const auto s = sharding({{"data", 8}}, {{{"data"}}});
  const auto data = fit(s, {16, 10}, Dims{16, 10}, 3);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(boxes(*data), ElementsAre("[12:14, 0:10]", "[14:16, 0:10]"));
}

TEST(ProcessLocal, PartsThatAreApartInTheTensorLieSideBySideInTheData) {
  // Process 0 holds parts 0 and 4, process 1 parts 1 and 5, and so on.
  const auto s = sharding({{"data", 8}}, {{{"data"}}}, {0, 2, 4, 6, 1, 3, 5, 7});
  const auto data = fit(s, {2}, Dims{8}, 1);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(boxes(*data), ElementsAre("[0:1]", "[1:2]"));
  EXPECT_EQ(data->parts[1].position, 5);
}

// The processes of a 4 x 4 tensor own crossing columns: process 0 half of columns 0 and 1, process
// 1 the other half of 0 and half of 2, and so on.
TEST(ProcessLocal, Spec17WhatDoesNotFollowMustBeGiven) {
  const auto s =
      sharding({{"rows", 2}, {"columns", 4}}, {{{"rows"}, {"columns"}}}, {0, 1, 4, 6, 2, 3, 5, 7});
  // Process 0 holds (0, 0) and (0, 1), process 2 (0, 2) and (1, 2): different numbers of columns.
  EXPECT_THAT(fit(s, {2, 2}, {}, 0).status().message(),
              AllOf(HasSubstr("dimension 0"), HasSubstr("give them")));
  const auto given = fit(s, {2, 2}, Dims{4, 4}, 0);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(boxes(*given), ElementsAre("[0:2, 0:1]", "[0:2, 1:2]"));
  const auto other = fit(s, {4, 1}, Dims{4, 4}, 2);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(boxes(*other), ElementsAre("[0:2, 0:1]", "[2:4, 0:1]"));
}

TEST(ProcessLocal, Spec17ErrorsNameWhatIsWrong) {
  const auto s = sharding({{"data", 8}}, {{{"data"}}});
  EXPECT_THAT(fit(s, {3, 10}, Dims{16, 10}, 0).status().message(),
              AllOf(HasSubstr("dimension 0"), HasSubstr("must be 4"), HasSubstr("all 16")));
  EXPECT_THAT(fit(s, {3, 10}, {}, 0).status().message(), HasSubstr("12"));
  EXPECT_THAT(fit(s, {4}, Dims{16, 10}, 0).status().message(), HasSubstr("number of dimensions"));
  EXPECT_THAT(fit(s, {}, {}, 0).status().message(), HasSubstr("fewer dimensions"));
  EXPECT_THAT(fit(s, {4}, {}, 9).status().message(), HasSubstr("no device"));
  const std::vector<int64_t> alone(8, 0);
  EXPECT_THAT(fit_process_local(s, {8}, Dims{16}, alone, 0).status().message(),
              HasSubstr("only process"));
}

TEST(ProcessLocal, AProcessWithoutDevicesHasNoParts) {
  const auto s = sharding({{"data", 2}}, {{{"data"}}}, {0, 2});
  const auto data = fit(s, {4}, Dims{4}, 3);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_TRUE(data->parts.empty());
}

TEST(ProcessLocal, DimsAreThoseOfTheProcesssPartsSideBySide) {
  const auto s = sharding({{"x", 4}, {"y", 2}}, {{{"y"}, {"x"}}});  // process p: column block p
  EXPECT_THAT(*process_local_dims(s, {6, 8}, processes(s), 1), ElementsAre(6, 2));
  const auto some = sharding({{"x", 3}}, {{{"x"}}}, {1, 2, 3});  // one of process 0, two of 1
  EXPECT_THAT(*process_local_dims(some, {6, 8}, processes(some), 0), ElementsAre(2, 8));
  EXPECT_THAT(*process_local_dims(some, {6, 8}, processes(some), 1), ElementsAre(4, 8));
  EXPECT_THAT(process_local_dims(some, {6, 8}, processes(some), 3).status().message(),
              HasSubstr("process 3 has no device in the mesh"));
  EXPECT_FALSE(process_local_dims(some, {7, 8}, processes(some), 1).ok());
}

}  // namespace
}  // namespace tessera
