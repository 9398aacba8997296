#include "tessera/sharding/shard_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace tessera {
namespace {

using ::testing::ElementsAre;

HostArray iota(Dims dims) {
  HostArray array(Shape{DType::kS32, std::move(dims)});
  std::iota(array.as<int32_t>().begin(), array.as<int32_t>().end(), 0);
  return array;
}

TEST(ShardCopy, SlicesABox) {
  EXPECT_THAT(slice(iota({3, 4}), {{1, 1}, {2, 2}}).as<int32_t>(), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(slice(iota({3, 4}), {{1, 0}, {1, 4}}).as<int32_t>(), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(slice(iota({}), {{}, {}}).as<int32_t>(), ElementsAre(0));
}

TEST(ShardCopy, BoxesOutsideEachOtherCopyNothing) {
  EXPECT_FALSE(intersect({{0, 0}, {2, 2}}, {{2, 0}, {2, 2}}).has_value());
  HostArray whole = iota({2, 2});
  paste(iota({2, 2}), {{2, 0}, {2, 2}}, whole);
  EXPECT_THAT(whole.as<int32_t>(), ElementsAre(0, 1, 2, 3));
}

TEST(ShardCopy, CopiesTheOverlapOfTwoShards) {
  const HostArray from = iota({2, 3});  // rows 1-2, columns 1-3 of a 4 x 5 tensor
  HostArray to = iota({3, 2});          // rows 0-2, columns 2-3
  copy_overlap({{{1, 1}, {2, 3}}, from.bytes().data()}, {{{0, 2}, {3, 2}}, to.bytes().data()}, 4);
  EXPECT_THAT(to.as<int32_t>(), ElementsAre(0, 1, 1, 2, 4, 5));
}

TEST(ShardCopy, PastingAllShardsGivesTheWhole) {
  const Mesh mesh = *Mesh::create({{"a", 2}, {"b", 3}}, 6);
  const auto sharding = *NamedSharding::create(mesh, {{{"b"}, {}, {"a"}}});
  const HostArray whole = iota({3, 5, 4});
  HostArray copy(whole.shape());
  for (int64_t position = 0; position < mesh.size(); ++position) {
    const ShardIndex index = sharding.shard_index(whole.shape().dims, position);
    paste(slice(whole, index), index, copy);
  }
  EXPECT_TRUE(std::ranges::equal(copy.bytes(), whole.bytes()));
}

}  // namespace
}  // namespace tessera
