#include "tessera/runtime/array_fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tessera/ops/elementwise_binary.h"
#include "tessera/runtime/jit.h"
#include "tessera/runtime/runtime_fixture.h"
#include "tessera/runtime/transfer_guard.h"

namespace tessera {
namespace {

using testing::iota;
using testing::sharded;
using testing::test_mesh;

/// Any bits that the dtype has.
HostArray values(DType dtype, Dims dims) {
  HostArray array(Shape{dtype, std::move(dims)});
  uint32_t state = 7;
  for (std::byte& byte : array.bytes()) {
    state = state * 1664525 + 1013904223;
    const uint8_t bits = static_cast<uint8_t>(state >> 24);
    if (dtype == DType::kBool) {
      byte = std::byte(bits & 1);
    } else if (dtype == DType::kU4) {
      byte = std::byte(bits & 15);
    } else if (dtype == DType::kS4) {
      byte = std::byte((bits & 15) ^ ((bits & 8) != 0 ? 0xF0 : 0));
    } else {
      byte = std::byte(bits);
    }
  }
  return array;
}

class ArrayFillTest : public testing::RuntimeTest {
 protected:
  Result<Array> filled(const HostArray& value, NamedSharding sharding, int64_t* staging = nullptr) {
    ASSIGN_OR_RETURN(ArrayFill fill,
                     ArrayFill::start(*runtime_, value.shape(), std::move(sharding)));
    if (staging != nullptr) *staging = fill.staging_bytes();
    for (const ArrayFill::Part& part : fill.parts()) {
      const HostArray bytes = slice(value, part.box);
      EXPECT_EQ(bytes.bytes().size(), part.bytes.size());
      std::ranges::copy(bytes.bytes(), part.bytes.begin());
    }
    return fill.finish();
  }
};

TEST_F(ArrayFillTest, WhatIsWrittenIsThereInEveryDtypeAndLayout) {
  const Mesh mesh = test_mesh({{"data", 2}, {"fsdp", 2}, {"tensor", 2}});
  for (const DType dtype : all_dtypes()) {
    for (const Dims& dims : {Dims{4, 8, 2}, Dims{0, 8, 2}}) {
      const HostArray value = values(dtype, dims);
      for (const PartitionSpec& spec : std::vector<PartitionSpec>{
               {}, {{{}, {"fsdp"}}}, {{{}, {"fsdp", "tensor"}}}, {{{}, {"data"}, {"tensor"}}}}) {
        int64_t staging = -1;
        const auto array = filled(value, sharded(mesh, spec), &staging);
        ASSERT_TRUE(array.ok()) << array.status();
        const auto back = array->to_host();
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_EQ(back->shape(), value.shape());
        EXPECT_TRUE(std::ranges::equal(back->bytes(), value.bytes()))
            << to_string(value.shape()) << to_string(spec);
        // Four bits an element are not how the host has them. Replicas share what is staged.
        const bool is_staged = dtype == DType::kU4 || dtype == DType::kS4;
        EXPECT_EQ(staging, is_staged ? value.shape().host_bytes() : 0) << to_string(value.shape());
      }
    }
  }
}

TEST_F(ArrayFillTest, CountsAndIsGuardedAsTheTransferThatItIs) {
  const auto sharding = sharded(test_mesh({{"data", 2}, {"fsdp", 2}}), {{{"fsdp"}}});
  for (const DType dtype : {DType::kF32, DType::kS4}) {
    const HostArray value = values(dtype, {4, 8});
    const int64_t before = runtime_->metrics().bytes_to_devices;
    TransferBudget budget(1 << 20, TransferDirection::kHostToDevice);
    ASSERT_TRUE(filled(value, sharding).ok());
    EXPECT_EQ(budget.used_bytes(), 2 * value.shape().host_bytes());
    EXPECT_EQ(runtime_->metrics().bytes_to_devices - before, 2 * value.shape().host_bytes());
    const TransferGuard guard(TransferDirection::kHostToDevice, TransferLevel::kDisallowExplicit);
    EXPECT_TRUE(absl::IsInvalidArgument(filled(value, sharding).status()));
  }
}

// The step after a restore neither copies the state nor loses it.
TEST_F(ArrayFillTest, ADonatingCallWorksInTheMemoryThatWasFilled) {
  const Shape shape{DType::kF32, {1024, 64}};
  const std::vector<NamedShape> parameters = {{"state.x", shape}};
  const auto graph = trace(
      parameters, [](Graph&, std::span<const Value> p) { return std::vector<Value>{p[0] * 2.0}; });
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Mesh mesh = test_mesh({{"fsdp", 4}});
  const auto step = jit(*runtime_, **graph,
                        {.name = "double",
                         .mesh = mesh,
                         .rules = AxisRules({{"embed", {"fsdp"}}}),
                         .arguments = {{"state.x", {"embed", ""}}},
                         .results = {{"state.x", {"embed", ""}}},
                         .donate = {"state"}});
  ASSERT_TRUE(step.ok()) << step.status();
  HostArray expected = iota(shape.dims);
  auto array = filled(expected, sharded(mesh, {{{"fsdp"}}}));
  ASSERT_TRUE(array.ok()) << array.status();
  const auto memory_of = [](const Array& array) {
    std::set<const std::byte*> memory;
    for (const Array::Piece& piece : array.pieces())
      memory.insert(piece.buffer.host_memory().value().data());
    return memory;
  };
  const auto before = memory_of(*array);
  EXPECT_EQ(before.size(), 4U);
  for (int i = 0; i < 3; ++i) {
    Tree<Array> arguments;
    ASSERT_TRUE(arguments.add("state.x", *std::move(array)).ok());
    auto results = call(*step, arguments);
    ASSERT_TRUE(results.ok()) << results.status();
    array = results->at("state.x");
    ASSERT_TRUE(array->await().ok());
    EXPECT_EQ(memory_of(*array), before);
    for (float& value : expected.as<float>()) value *= 2;
    EXPECT_TRUE(std::ranges::equal(array->to_host()->bytes(), expected.bytes()));
  }
}

}  // namespace
}  // namespace tessera
