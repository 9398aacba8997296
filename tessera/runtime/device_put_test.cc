#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tessera/runtime/runtime_fixture.h"
#include "tessera/runtime/transfer.h"
#include "tessera/sharding/testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using testing::message;
using testing::random_bits;
using testing::sharded;
using testing::test_mesh;
using DevicePutTest = testing::RuntimeTest;

bool same_bits(const HostArray& a, const HostArray& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

constexpr int64_t kDevices[] = {0, 1, 2, 3, 4, 5, 6, 7};

TEST_F(DevicePutTest, BringsEveryDtypeBitByBitFromAnyLayoutToAnyOther) {
  std::mt19937 random(11);
  for (const DType dtype : all_dtypes()) {
    for (int i = 0; i < 4; ++i) {
      const Dims dims = testing::random_dims(random);
      const auto from = testing::random_sharding(random, kDevices, dims);
      const auto to = testing::random_sharding(random, kDevices, dims);
      SCOPED_TRACE(
          str_cat(to_string(Shape{dtype, dims}), " ", to_string(from), " to ", to_string(to)));
      const HostArray value = random_bits({dtype, dims}, random);
      const int64_t before = runtime_->metrics().bytes_to_devices;
      const Array array = put(value, from);
      const int64_t put_bytes = runtime_->metrics().bytes_to_devices - before;
      const auto moved = device_put(*runtime_, array, to);
      ASSERT_TRUE(moved.ok()) << moved.status();
      EXPECT_EQ(runtime_->metrics().bytes_to_devices - before, put_bytes);  // not over the host
      EXPECT_TRUE(same_bits(*moved->to_host(), value));
      EXPECT_TRUE(same_bits(*array.to_host(), value));
      const auto shards = moved->addressable_shards();
      for (const Array::Shard& shard : *shards) {
        const auto part = shard.buffer->to_host();
        ASSERT_TRUE(part.ok()) << part.status();
        EXPECT_TRUE(same_bits(*part, slice(value, shard.box)));
      }
    }
  }
}

TEST_F(DevicePutTest, OnTheSameMeshIsBitByBitTooForEveryDtype) {
  std::mt19937 random(12);
  const Mesh mesh = test_mesh({{"a", 2}, {"b", 4}});
  const std::vector<NamedSharding> layouts = {sharded(mesh, {{{"a"}, {"b"}}}), sharded(mesh, {}),
                                              sharded(mesh, {{{}, {"b", "a"}}})};
  for (const DType dtype : all_dtypes()) {
    const HostArray value = random_bits({dtype, {16, 8}}, random);
    for (const auto& from : layouts) {
      for (const auto& to : layouts) {
        const auto moved = device_put(*runtime_, put(value, from), to);
        ASSERT_TRUE(moved.ok()) << moved.status();
        EXPECT_TRUE(same_bits(*moved->to_host(), value))
            << dtype_name(dtype) << " " << to_string(from) << " to " << to_string(to);
      }
    }
  }
}

TEST_F(DevicePutTest, CompilesOnceForOnePairOfLayouts) {
  const auto from = sharded(*Mesh::create({{"x", 2}}, {0, 1}), {{{"x"}}});
  const auto to = sharded(*Mesh::create({{"x", 4}}, {4, 5, 6, 7}), {{{"x"}}});
  ASSERT_TRUE(device_put(*runtime_, put(testing::iota({8, 3}), from), to).ok());
  const int64_t before = runtime_->metrics().compilations;
  ASSERT_TRUE(device_put(*runtime_, put(testing::iota({8, 3}), from), to).ok());
  EXPECT_EQ(runtime_->metrics().compilations, before);
}

TEST_F(DevicePutTest, ErrorsComeBeforeAnythingStarts) {
  const auto from = sharded(*Mesh::create({{"x", 2}}, {0, 1}), {{{"x"}}});
  const auto to = sharded(*Mesh::create({{"x", 4}}, {4, 5, 6, 7}), {{{"x"}}});
  const int64_t before = runtime_->metrics().dispatches;
  EXPECT_THAT(message(device_put(*runtime_, put(testing::iota({6}), from), to).status()),
              HasSubstr("dimension 0 of f32[6] has size 6, which is not divisible by 4"));
  const Array hollow = Array::from_pieces({DType::kF32, {8}}, from, {});
  EXPECT_THAT(message(device_put(*runtime_, hollow, to).status()),
              HasSubstr("array f32[8] sharded [x] has no part on device 0, which is in its mesh"));
  EXPECT_THAT(message(device_put(*runtime_, hollow, sharded(from.mesh(), {})).status()),
              HasSubstr("has parts on 0 devices of this process, of which 2 are in the mesh"));
  const auto elsewhere = sharded(*Mesh::create({{"x", 1}}, {77}), {});
  EXPECT_THAT(message(device_put(*runtime_, put(testing::iota({8}), from), elsewhere).status()),
              HasSubstr("no device has id 77"));
  EXPECT_EQ(runtime_->metrics().dispatches, before);
}

TEST(DevicePut, IsRefusedBetweenDevicesOfTwoKinds) {
  EXPECT_TRUE(check_same_kind({{0, "cpu"}, {7, "cpu"}}).ok());
  EXPECT_EQ(message(check_same_kind({{0, "cpu"}, {3, "cpu"}, {7, "tpu"}})),
            "device 0 is a cpu and device 7 a tpu: arrays go between devices of one kind only");
}

}  // namespace
}  // namespace tessera
