#include "tessera/sharding/loading_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Groups = std::vector<std::vector<int64_t>>;

// Devices of process p: 2p and 2p + 1, and so on.
std::vector<int64_t> in_order(int64_t processes, int64_t devices_each) {
  std::vector<int64_t> process_of;
  for (int64_t i = 0; i < processes * devices_each; ++i) process_of.push_back(i / devices_each);
  return process_of;
}

NamedSharding sharding(std::vector<MeshAxis> axes, PartitionSpec spec,
                       std::vector<int64_t> device_ids) {
  const Mesh mesh = *Mesh::create(std::move(axes), std::move(device_ids));
  return *NamedSharding::create(mesh, std::move(spec));
}
NamedSharding sharding(std::vector<MeshAxis> axes, PartitionSpec spec) {
  return sharding(std::move(axes), std::move(spec), {0, 1, 2, 3, 4, 5, 6, 7});
}

std::string part(const LoadingPlan& plan, int64_t process, size_t i = 0) {
  return to_string(plan.find(process)->parts.at(i));
}

// The six worked cases of the field's documentation, with 4 processes of 2 devices unless said.

TEST(LoadingPlan, Spec21CaseOfAFullySplitDimension) {
  const auto s = sharding({{"x", 8}}, {{{}, {"x"}}});
  const auto plan = *plan_loading(s, {64, 128}, in_order(4, 2));
  EXPECT_THAT(s.shard_dims({64, 128}), ElementsAre(64, 16));
  // Process 0 loads (64, 32): two parts side by side.
  EXPECT_EQ(part(plan, 0, 0), "[0:64, 0:16]");
  EXPECT_EQ(part(plan, 0, 1), "[0:64, 16:32]");
  EXPECT_EQ(part(plan, 3, 1), "[0:64, 112:128]");
  EXPECT_EQ(plan.groups(), (Groups{{0}, {1}, {2}, {3}}));
}

TEST(LoadingPlan, Spec21CaseOfFullReplication) {
  const auto plan = *plan_loading(sharding({{"x", 8}}, {}), {64, 128}, in_order(4, 2));
  for (int64_t process = 0; process < 4; ++process) {
    EXPECT_EQ(plan.find(process)->parts.size(), 1u);
    EXPECT_EQ(part(plan, process), "[0:64, 0:128]");
    EXPECT_EQ(plan.find(process)->positions[0].size(), 2u);
  }
  EXPECT_EQ(plan.groups(), (Groups{{0, 1, 2, 3}}));
}

TEST(LoadingPlan, Spec21CaseOfCopiesInsideEachProcess) {
  // The rows' two halves lie on the two devices of every process.
  const auto s = sharding({{"copy", 4}, {"rows", 2}}, {{{"rows"}}});
  const auto plan = *plan_loading(s, {64, 128}, in_order(4, 2));
  EXPECT_EQ(plan.groups(), (Groups{{0, 1, 2, 3}}));
  EXPECT_EQ(part(plan, 2, 0), "[0:32, 0:128]");
  EXPECT_EQ(part(plan, 2, 1), "[32:64, 0:128]");
}

TEST(LoadingPlan, Spec21CaseOfCopiesOverTwoProcesses) {
  // Row block 0 on processes 0 and 1, block 1 on 2 and 3.
  const auto s = sharding({{"rows", 2}, {"copy", 4}}, {{{"rows"}}});
  const auto plan = *plan_loading(s, {64, 128}, in_order(4, 2));
  EXPECT_EQ(plan.groups(), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(part(plan, 1), "[0:32, 0:128]");
  EXPECT_EQ(part(plan, 2), "[32:64, 0:128]");
}

TEST(LoadingPlan, Spec21CaseOfDataParallelism) {
  // Each process loads 2 of the 8 batches.
  const auto plan = *plan_loading(sharding({{"data", 8}}, {{{"data"}}}), {8, 100}, in_order(4, 2));
  EXPECT_EQ(plan.groups(), (Groups{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(plan.find(1)->parts.size(), 2u);
  EXPECT_FALSE(plan.overlaps);
}

TEST(LoadingPlan, Spec21CaseOfModelParallelismInsideProcesses) {
  // 2 processes of 4 devices, replicas of 2 devices: two batches a process, each on two devices.
  const auto s = sharding({{"data", 4}, {"model", 2}}, {{{"data"}}});
  const auto plan = *plan_loading(s, {4, 100}, in_order(2, 4));
  EXPECT_EQ(plan.groups(), (Groups{{0}, {1}}));
  EXPECT_EQ(plan.find(1)->parts.size(), 2u);
  EXPECT_EQ(plan.find(1)->positions, (Groups{{4, 5}, {6, 7}}));
}

TEST(LoadingPlan, Spec21CaseOfModelParallelismAcrossProcesses) {
  // A replica's two devices lie on different processes, 0 and 2 or 1 and 3; each of them has two
  // replicas' halves.
  const auto s = sharding({{"data", 4}, {"model", 2}}, {{{"data"}}}, {0, 4, 1, 5, 2, 6, 3, 7});
  std::vector<int64_t> process_of;
  for (int64_t id : s.mesh().device_ids()) process_of.push_back(id / 2);
  const auto plan = *plan_loading(s, {4, 100}, process_of);
  EXPECT_EQ(plan.groups(), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(plan.find(0)->parts, plan.find(2)->parts);
  EXPECT_EQ(part(plan, 0, 1), "[1:2, 0:100]");  // in this order on both
  EXPECT_EQ(part(plan, 3, 0), "[2:3, 0:100]");
}

TEST(LoadingPlan, Spec21CaseOfModelParallelismAlone) {
  const auto plan = *plan_loading(sharding({{"model", 8}}, {}), {4, 100}, in_order(4, 2));
  EXPECT_EQ(plan.groups(), (Groups{{0, 1, 2, 3}}));
}

TEST(LoadingPlan, OverlapsOfDifferentGroupsAreTold) {
  // Process 0 has devices 0 to 2, process 1 device 3: the rows' halves are on {0, 1} and {2, 3}.
  const auto s = sharding({{"rows", 2}, {"copy", 2}}, {{{"rows"}}}, {0, 1, 2, 3});
  const std::vector<int64_t> process_of = {0, 0, 0, 1};
  const auto plan = *plan_loading(s, {8}, process_of);
  EXPECT_EQ(plan.groups(), (Groups{{0}, {1}}));
  EXPECT_TRUE(plan.overlaps);
}

TEST(LoadingPlan, AProcessWithoutDevicesInTheMeshLoadsNothing) {
  const auto s = sharding({{"data", 2}}, {{{"data"}}}, {0, 1});
  const std::vector<int64_t> process_of = {0, 2};
  const auto plan = *plan_loading(s, {8}, process_of);
  EXPECT_EQ(plan.find(1), nullptr);
  EXPECT_THAT(boxes_to_read(LoadingStrategy::kPerProcess, s, {8}, process_of, 1).status().message(),
              HasSubstr("process 1 has no device"));
}

TEST(LoadingPlan, ErrorsAreTold) {
  const auto s = sharding({{"data", 8}}, {{{"data"}}});
  EXPECT_THAT(plan_loading(s, {9}, in_order(4, 2)).status().message(), HasSubstr("9"));
  EXPECT_THAT(plan_loading(s, {8}, in_order(2, 2)).status().message(), HasSubstr("mesh has 8"));
  EXPECT_THAT(
      boxes_to_read(LoadingStrategy::kEven, sharding({{"data", 8}}, {}), {12, 3}, in_order(4, 2), 0)
          .status()
          .message(),
      HasSubstr("12"));
}

int64_t elements(const std::vector<Box>& boxes) {
  int64_t sum = 0;
  for (const Box& box : boxes) sum += box.elements();
  return sum;
}

// What each strategy reads in all: the data four times, once a device, once a process, and once.
TEST(LoadingPlan, Spec24StrategiesReadWhatTheySay) {
  // Rows over two axes of four, copies on the two devices of a process.
  const auto s = sharding({{"rows", 2}, {"twice", 2}, {"copy", 2}}, {{{"rows"}}});
  const Dims dims = {16, 10};
  const auto process_of = in_order(4, 2);
  std::map<LoadingStrategy, int64_t> read;
  for (LoadingStrategy strategy : {LoadingStrategy::kWhole, LoadingStrategy::kPerDevice,
                                   LoadingStrategy::kPerProcess, LoadingStrategy::kEven}) {
    for (int64_t process = 0; process < 4; ++process) {
      const auto boxes = boxes_to_read(strategy, s, dims, process_of, process);
      ASSERT_TRUE(boxes.ok()) << boxes.status();
      read[strategy] += elements(*boxes);
    }
  }
  EXPECT_EQ(read[LoadingStrategy::kWhole], 4 * 160);
  EXPECT_EQ(read[LoadingStrategy::kPerDevice], 8 * 80);
  EXPECT_EQ(read[LoadingStrategy::kPerProcess], 4 * 80);
  EXPECT_EQ(read[LoadingStrategy::kEven], 160);
}

// The shares of kEven are what the devices of its layout hold, whatever the order of devices.
TEST(LoadingPlan, EvenSharesLieOnTheirProcessesDevices) {
  const auto s = sharding({{"rows", 4}, {"copy", 2}}, {{{"rows"}}}, {5, 0, 3, 7, 1, 2, 6, 4});
  std::vector<int64_t> process_of;
  for (int64_t id : s.mesh().device_ids()) process_of.push_back(id < 5 ? 0 : 1);  // uneven: 5 and 3
  const NamedSharding even = *even_sharding(s.mesh(), process_of);
  std::set<Box> seen;
  for (int64_t position = 0; position < 8; ++position) {
    const Box box = even.shard_box({16, 3}, position);
    EXPECT_TRUE(seen.insert(box).second);
    const int64_t process = even.mesh().device_ids()[position] < 5 ? 0 : 1;
    const Box share = boxes_to_read(LoadingStrategy::kEven, s, {16, 3}, process_of, process)->at(0);
    EXPECT_EQ(intersect(share, box), box) << to_string(box);
  }
}

}  // namespace
}  // namespace tessera
