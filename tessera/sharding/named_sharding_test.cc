#include "tessera/sharding/named_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "tessera/sharding/shardy.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Mesh mesh() { return *Mesh::create({{"data", 2}, {"fsdp", 2}, {"tensor", 2}}, 8); }

NamedSharding sharding(PartitionSpec spec) {
  auto result = NamedSharding::create(mesh(), std::move(spec));
  CHECK_MSG(result.ok(), result.status().ToString());
  return *result;
}

TEST(NamedSharding, GivesEachDeviceItsBox) {
  const NamedSharding s = sharding({{{"fsdp"}, {"tensor", "data"}}});
  const Dims dims = {4, 8};
  EXPECT_EQ(s.shard_dims(dims), (Dims{2, 2}));
  EXPECT_EQ(to_string(s.shard_box(dims, 0)), "[0:2, 0:2]");
  // Position 5 is data 1, fsdp 0, tensor 1: the column block is tensor * 2 + data = 3.
  EXPECT_EQ(to_string(s.shard_box(dims, 5)), "[0:2, 6:8]");
  EXPECT_EQ(to_string(s.shard_box(dims, 7)), "[2:4, 6:8]");
}

TEST(NamedSharding, BoxesTileTheTensorAndReplicasCount) {
  for (const PartitionSpec& spec : std::vector<PartitionSpec>{{},
                                                              {{{"data"}}},
                                                              {{{}, {"tensor"}}},
                                                              {{{"data", "fsdp"}}},
                                                              {{{"tensor"}, {"fsdp", "data"}}}}) {
    const NamedSharding s = sharding(spec);
    std::map<Box, std::set<int64_t>> replicas;
    for (int64_t position = 0; position < 8; ++position) {
      const auto box = s.shard_box({8, 8}, position);
      EXPECT_TRUE(replicas[box].insert(s.replica_id(position)).second) << to_string(spec);
    }
    int64_t elements = 0;
    for (const auto& [box, ids] : replicas) {
      elements += box.elements();
      EXPECT_EQ(static_cast<int64_t>(ids.size()), s.num_replicas()) << to_string(spec);
      EXPECT_EQ(*ids.rbegin(), s.num_replicas() - 1) << to_string(spec);
    }
    EXPECT_EQ(elements, 64) << to_string(spec);
  }
}

TEST(NamedSharding, PastingAllShardsGivesTheWhole) {
  const Mesh mesh = *Mesh::create({{"a", 2}, {"b", 3}}, 6);
  const auto sharding = *NamedSharding::create(mesh, {{{"b"}, {}, {"a"}}});
  HostArray whole(Shape{DType::kS32, {3, 5, 4}});
  std::iota(whole.as<int32_t>().begin(), whole.as<int32_t>().end(), 0);
  HostArray copy(whole.shape());
  for (int64_t position = 0; position < mesh.size(); ++position) {
    const Box box = sharding.shard_box(whole.shape().dims, position);
    paste(slice(whole, box), box, copy);
  }
  EXPECT_TRUE(std::ranges::equal(copy.bytes(), whole.bytes()));
}

TEST(NamedSharding, EqualLayoutsCompareEqual) {
  const Mesh flat = *Mesh::create({{"data", 2}, {"tensor", 1}}, 2);
  const auto a = NamedSharding::create(flat, {{{"data", "tensor"}, {}}});
  const auto b = NamedSharding::create(flat, {{{"data"}}});
  EXPECT_EQ(*a, *b);
  EXPECT_TRUE(NamedSharding::create(flat, {{{"tensor"}}})->is_fully_replicated());
}

TEST(NamedSharding, IndivisibleDimensionNamesDimAxisAndSizes) {
  const Status status = sharding({{{}, {"data", "fsdp"}}}).check({DType::kF32, {4, 6}});
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("dimension 1 of f32[4,6] has size 6, which is not divisible by 4, the product "
                "of the mesh axes that split it (data=2, fsdp=2)"));
  EXPECT_THAT(std::string(sharding({{{}, {"data"}}}).check({DType::kF32, {4}}).message()),
              HasSubstr("splits dimension 1, but f32[4] has 1 dimensions"));
}

TEST(NamedSharding, UnknownAndRepeatedAxesAreErrors) {
  EXPECT_THAT(std::string(NamedSharding::create(mesh(), {{{"expert"}}}).status().message()),
              HasSubstr("no axis 'expert'; its axes are data, fsdp, tensor"));
  EXPECT_THAT(std::string(NamedSharding::create(mesh(), {{{"data"}, {"data"}}}).status().message()),
              HasSubstr("[data,data] uses axis 'data' twice"));
}

TEST(Shardy, PrintsMeshAndSharding) {
  EXPECT_EQ(shardy_mesh(mesh()), R"(sdy.mesh @mesh = <["data"=2, "fsdp"=2, "tensor"=2]>)");
  EXPECT_EQ(shardy_sharding({{{"data", "fsdp"}, {}}}, 3),
            R"(#sdy.sharding<@mesh, [{"data", "fsdp"}, {}, {}]>)");
  EXPECT_EQ(shardy_sharding({}, 0), "#sdy.sharding<@mesh, []>");
}

}  // namespace
}  // namespace tessera
