#include "tessera/runtime/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/runtime/runtime_fixture.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::iota;
using testing::sharded;
using testing::test_mesh;

bool equal(const HostArray& a, const HostArray& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

class ArrayTest : public testing::RuntimeTest {};

TEST_F(ArrayTest, EveryLayoutGivesTheSameValuesBack) {
  const HostArray value = iota({4, 8, 2});
  const Mesh mesh = test_mesh({{"data", 2}, {"fsdp", 2}, {"tensor", 2}});
  for (const PartitionSpec& spec : std::vector<PartitionSpec>{{},
                                                              {{{"data"}}},
                                                              {{{}, {"fsdp"}}},
                                                              {{{"tensor", "data"}, {"fsdp"}}},
                                                              {{{"fsdp"}, {"data"}, {"tensor"}}},
                                                              {{{}, {"data", "fsdp", "tensor"}}}}) {
    const auto back = put(value, sharded(mesh, spec)).to_host();
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(equal(*back, value)) << to_string(spec);
  }
}

TEST_F(ArrayTest, EachDeviceHoldsOnlyItsOwnPart) {
  const Mesh mesh = test_mesh({{"data", 2}, {"fsdp", 2}});
  const Array array = put(iota({4, 2}), sharded(mesh, {{{"fsdp"}}}));
  const auto shards = array.addressable_shards();
  ASSERT_TRUE(shards.ok());
  ASSERT_EQ(shards->size(), 4u);
  for (const Array::Shard& shard : *shards) {
    EXPECT_EQ(*shard.buffer->on_device_bytes(), 16u);
    EXPECT_EQ(shard.buffer->device()->id(), mesh.device_ids()[shard.position]);
  }
  // Position 3 is data 1, fsdp 1: the second copy of the lower half.
  EXPECT_EQ(to_string((*shards)[3].box), "[2:4, 0:2]");
  EXPECT_EQ((*shards)[3].replica_id, 1);
  EXPECT_THAT((*shards)[3].buffer->to_host()->as<float>(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(runtime_->metrics().bytes_to_devices, 4 * 16);
}

TEST_F(ArrayTest, IsAssembledFromTheProcesssOwnData) {
  // One process: its data is the whole.
  const auto sharding = sharded(test_mesh({{"data", 2}, {"fsdp", 2}}), {{{"fsdp"}}});
  const HostArray value = iota({4, 3});
  const auto array = Array::from_process_local(*runtime_, sharding, value);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->shape(), value.shape());
  EXPECT_TRUE(equal(*array->to_host(), value));
  const auto error = Array::from_process_local(*runtime_, sharding, value, Dims{8, 3});
  EXPECT_THAT(error.status().message(), HasSubstr("only process"));
}

TEST_F(ArrayTest, Spec17IsAssembledFromBuffersInAnyOrder) {
  const auto sharding = sharded(test_mesh({{"data", 2}, {"fsdp", 2}}), {{{"fsdp"}}});
  const Shape shape{DType::kF32, {4, 3}};
  const auto part = [&](int64_t position, const HostArray& value) {
    const auto id = static_cast<int>(sharding.mesh().device_ids()[position]);
    return *runtime_->client().to_device(value, *runtime_->client().device(id));
  };
  const HostArray half = iota({2, 3});
  const auto assemble = [&](std::vector<int64_t> positions, const HostArray& value) {
    std::vector<pjrt::Buffer> buffers;
    for (int64_t position : positions) buffers.push_back(part(position, value));
    return Array::from_buffers(*runtime_, shape, sharding, std::move(buffers));
  };
  const auto array = assemble({3, 0, 2, 1}, half);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->pieces()[3].buffer.device()->id(), sharding.mesh().device_ids()[3]);
  EXPECT_THAT(array->to_host()->as<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));

  const auto error = [&](std::vector<int64_t> positions, const HostArray& value) {
    return std::string(assemble(std::move(positions), value).status().message());
  };
  EXPECT_THAT(error({0, 1, 2}, half), HasSubstr("no buffer is on devices 3"));
  EXPECT_THAT(error({}, half), HasSubstr("no buffer is on devices 0, 1, 2, 3"));
  EXPECT_THAT(error({0, 1, 2, 2}, half), HasSubstr("two buffers are on device 2"));
  EXPECT_THAT(error({0, 1, 2, 3}, iota({4, 3})), HasSubstr("its part of f32[4,3]"));
  EXPECT_THAT(error({0, 1, 2, 3}, HostArray(Shape{DType::kS32, {2, 3}})), HasSubstr("s32[2,3]"));

  std::vector<pjrt::Buffer> elsewhere;
  elsewhere.push_back(*runtime_->client().to_device(half, *runtime_->client().device(7)));
  EXPECT_THAT(
      Array::from_buffers(*runtime_, shape, sharding, std::move(elsewhere)).status().message(),
      HasSubstr("the mesh has no devices 7"));
}

TEST_F(ArrayTest, CarriesEveryDTypeInParts) {
  const auto sharding = sharded(test_mesh({{"x", 2}, {"y", 2}}), {{{"x"}, {"y"}}});
  for (DType dtype : all_dtypes()) {
    HostArray value(Shape{dtype, {4, 6}});
    for (size_t i = 0; i < value.bytes().size(); ++i) {
      value.bytes()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : i % 8);
    }
    const auto back = put(value, sharding).to_host();
    ASSERT_TRUE(back.ok()) << dtype_name(dtype) << ": " << back.status();
    EXPECT_TRUE(equal(*back, value)) << dtype_name(dtype);
  }
}

TEST_F(ArrayTest, AMeshMayUseSomeDevicesInAnyOrder) {
  const Mesh mesh = *Mesh::create({{"x", 3}}, {6, 1, 4});
  const Array array = put(iota({6}), sharded(mesh, {{{"x"}}}));
  EXPECT_EQ((*array.addressable_shards())[0].buffer->device()->id(), 6);
  EXPECT_TRUE(equal(*array.to_host(), iota({6})));
}

TEST_F(ArrayTest, AsksForEachPartOnce) {
  const auto sharding = sharded(test_mesh({{"data", 2}, {"fsdp", 2}}), {{{"fsdp"}}});
  std::vector<std::string> asked;
  const auto source = [&](const Box& box) -> Result<HostArray> {
    asked.push_back(to_string(box));
    return HostArray(Shape{DType::kF32, box.dims});
  };
  const auto array = Array::from_shards(*runtime_, {DType::kF32, {4, 2}}, sharding, source);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(asked, ElementsAre("[0:2, 0:2]", "[2:4, 0:2]"));
}

TEST_F(ArrayTest, PartsOfTheWrongShapeAreRefused) {
  const auto sharding = sharded(test_mesh({{"fsdp", 2}}), {{{"fsdp"}}});
  const auto source = [](const Box&) -> Result<HostArray> { return iota({4, 2}); };
  EXPECT_THAT(std::string(Array::from_shards(*runtime_, {DType::kF32, {4, 2}}, sharding, source)
                              .status()
                              .message()),
              HasSubstr("part [0:2, 0:2] of f32[4,2] must be f32[2,2], got f32[4,2]"));
  EXPECT_THAT(std::string(Array::from_host(*runtime_, iota({3}), sharding).status().message()),
              HasSubstr("dimension 0 of f32[3] has size 3, which is not divisible by 2"));
  const auto elsewhere = sharded(*Mesh::create({{"x", 1}}, {77}), {});
  EXPECT_THAT(std::string(Array::from_host(*runtime_, iota({3}), elsewhere).status().message()),
              HasSubstr("no device has id 77"));
}

TEST_F(ArrayTest, CallsBackOnceWhenAllPartsAreThere) {
  const Array array = put(iota({8}), sharded(test_mesh({{"x", 8}}), {{{"x"}}}));
  const Status status = pjrt::testing::await_callback(array);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ArrayTest, ARemovedArraySaysSo) {
  Array array = put(iota({2}), sharded(test_mesh({{"x", 1}}), {}));
  const Array other_handle = array;
  array.remove();
  array.remove();
  EXPECT_THAT(std::string(other_handle.to_host().status().message()),
              HasSubstr("array f32[2] was removed"));
  EXPECT_FALSE(other_handle.await().ok());
  EXPECT_FALSE(other_handle.addressable_shards().ok());
}

TEST_F(ArrayTest, DevicePutLaysOutAnew) {
  const HostArray value = iota({8, 4});
  const Mesh mesh = test_mesh({{"data", 2}, {"fsdp", 2}, {"tensor", 2}});
  const Mesh other = *Mesh::create({{"x", 4}}, {7, 5, 3, 1});
  const std::vector<NamedSharding> layouts = {
      sharded(mesh, {}), sharded(mesh, {{{"fsdp"}, {"tensor"}}}),
      sharded(mesh, {{{"data", "tensor"}}}), sharded(other, {{{"x"}}}),
      sharded(other, {{{}, {"x"}}})};
  for (const NamedSharding& from : layouts) {
    for (const NamedSharding& to : layouts) {
      const Array source = put(value, from);
      const auto moved = device_put(*runtime_, source, to);
      ASSERT_TRUE(moved.ok()) << moved.status();
      EXPECT_EQ(moved->sharding(), to);
      EXPECT_EQ(moved->same_as(source), from == to);
      EXPECT_TRUE(equal(*moved->to_host(), value)) << to_string(from) << " to " << to_string(to);
      EXPECT_TRUE(source.check_alive().ok());
    }
  }
}

TEST_F(ArrayTest, DevicePutToTheSameMeshStaysOnTheDevices) {
  const Mesh mesh = test_mesh({{"x", 4}});
  const Array array = put(iota({4, 4}), sharded(mesh, {{{"x"}}}));
  const int64_t before = runtime_->metrics().bytes_to_devices;
  ASSERT_TRUE(device_put(*runtime_, array, sharded(mesh, {{{}, {"x"}}})).ok());
  EXPECT_EQ(runtime_->metrics().bytes_to_devices, before);
}

TEST(RuntimeTest, MakesAsManyDevicesAsAskedFor) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto runtime =
      Runtime::create({.plugin = *pjrt::testing::test_plugin_path(), .cpu_devices = 3});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ((*runtime)->client().devices().size(), 3u);
  EXPECT_EQ((*runtime)->mesh({{"data", -1}})->size(), 3);
  EXPECT_THAT(std::string((*runtime)->mesh({{"data", 2}}).status().message()),
              HasSubstr("there are 3 devices"));
}

}  // namespace
}  // namespace tessera
