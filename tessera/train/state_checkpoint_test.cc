// A state that one mesh saved comes back on any other, bit for bit, and what is read is what the
// devices hold.

#include "tessera/train/state_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/testing.h"
#include "tessera/ckpt/sample_state.h"
#include "tessera/ops/elementwise_binary.h"
#include "tessera/runtime/runtime_fixture.h"
#include "tessera/runtime/transfer_guard.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

using Degrees = std::vector<std::pair<std::string, int64_t>>;

const std::vector<std::pair<std::string, Degrees>> kMeshes = {
    {"one", {}},
    {"data2_fsdp2", {{"data", 2}, {"fsdp", 2}}},
    {"fsdp4_tensor2", {{"fsdp", 4}, {"tensor", 2}}},
    {"data2_fsdp2_tensor2", {{"data", 2}, {"fsdp", 2}, {"tensor", 2}}},
};

Layout layout_of(const Degrees& degrees) {
  MeshConfig config;
  int64_t devices = 1;
  config.ici_degree("data") = 1;
  config.ici_degree("fsdp") = 1;
  for (const auto& [axis, degree] : degrees) {
    config.ici_degree(axis) = degree;
    devices *= degree;
  }
  const auto layout = [&]() -> Result<Layout> {
    ASSIGN_OR_RETURN(const Slices slices, config.slices(devices));
    ASSIGN_OR_RETURN(const MeshConfig resolved, config.resolved(slices));
    return make_layout(resolved, slices);
  }();
  CHECK_MSG(layout.ok(), layout.status().ToString());
  return *layout;
}

/// Large ones that are cut into pieces, small ones, a scalar, and integers beside floats.
std::vector<ArgumentSpec> state_specs() {
  return {{"optimizer.count", {DType::kS32, {}}, {}},
          {"optimizer.mu.embed", {DType::kF32, {1024, 256}}, {"vocab", "embed"}},
          {"params.embed", {DType::kBF16, {1024, 256}}, {"vocab", "embed"}},
          {"params.layers.mlp.up", {DType::kF32, {3, 512, 1024}}, {"layers", "embed", "mlp"}},
          {"params.layers.nibbles", {DType::kS4, {2, 512, 256}}, {"layers", "embed", "mlp"}},
          {"params.norm", {DType::kF32, {256}}, {"norm"}}};
}

HostArray values_of(const ArgumentSpec& spec) {
  return sample::values_of({spec.path, spec.shape, spec.shape.dims, {}, {}});
}

class StateCheckpointTest : public testing::RuntimeTest {
 protected:
  Tree<Array> put_state(const Layout& layout) {
    Tree<Array> state;
    for (const ArgumentSpec& spec : state_specs()) {
      const auto value = lay_out(spec, layout);
      CHECK_MSG(value.ok(), value.status().ToString());
      CHECK(state.add(spec.path, put(values_of(spec), value->sharding)).ok());
    }
    return state;
  }
  std::unique_ptr<CheckpointReader> save(int64_t step, const Layout& layout,
                                         int64_t chunk_bytes = 16 << 10) {
    const Tree<Array> state = put_state(layout);
    CHECK(wait_until_ready(state).ok());
    auto request =
        copy_to_host(step, state, SaveShares(state), pool_, {.chunk_bytes = chunk_bytes});
    CHECK_MSG(request.ok(), request.status().ToString());
    const Status saved = sample::save(manager_, *request);
    CHECK_MSG(saved.ok(), saved.ToString());
    return *manager_.open(step);
  }

  TempFolder folder_{TempFolder::kMemory};
  CheckpointManager manager_{folder_.disk(), folder_ / "checkpoints"};
  StagingPool pool_;
};

TEST_F(StateCheckpointTest, SixteenPairsOfMeshesRoundTripBitForBitAndReadWhatTheyHold) {
  int64_t step = 0, held = 0;
  for (const ArgumentSpec& spec : state_specs()) held += spec.shape.host_bytes();
  for (const auto& [from_name, from] : kMeshes) {
    for (const auto& [to_name, to] : kMeshes) {
      const auto reader = save(++step, layout_of(from));
      const auto state = restore(*runtime_, *reader, state_specs(), layout_of(to));
      ASSERT_TRUE(state.ok()) << from_name << " to " << to_name << ": " << state.status();
      for (const ArgumentSpec& spec : state_specs()) {
        const Array& array = state->at(spec.path);
        const auto value = array.to_host();
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_TRUE(std::ranges::equal(value->bytes(), values_of(spec).bytes()))
            << spec.path << ", " << from_name << " to " << to_name;
        EXPECT_EQ(array.sharding().spec(), lay_out(spec, layout_of(to))->sharding.spec());
      }
      EXPECT_GE(reader->bytes_read(), held);
      EXPECT_LE(reader->bytes_read(), held * 105 / 100) << from_name << " to " << to_name;
    }
  }
  EXPECT_EQ(step, 16);
}

// As processes with a device each would: what one of them reads is about what its device holds.
TEST_F(StateCheckpointTest, EveryDeviceAloneReadsWhatItHolds) {
  for (const auto& [from_name, from] : kMeshes) {
    const auto reader = save(1, layout_of(from));
    for (const auto& [to_name, to] : kMeshes) {
      const Layout layout = layout_of(to);
      for (int64_t position = 0; position < layout.mesh.size(); ++position) {
        const int64_t before = reader->bytes_read();
        int64_t held = 0;
        for (const ArgumentSpec& spec : state_specs()) {
          const Box box = lay_out(spec, layout)->sharding.shard_box(spec.shape.dims, position);
          HostArray part(Shape{spec.shape.dtype, box.dims});
          ASSERT_TRUE(reader->read_region(spec.path, box, part.bytes()).ok());
          EXPECT_TRUE(std::ranges::equal(part.bytes(), slice(values_of(spec), box).bytes()));
          held += part.shape().host_bytes();
        }
        EXPECT_LE(reader->bytes_read() - before, held * 105 / 100)
            << from_name << " to " << to_name;
      }
    }
    ASSERT_TRUE(folder_.disk().remove_tree(manager_.directory()).ok());
  }
}

TEST_F(StateCheckpointTest, CopiesAreTransfersThatAreCountedOncePerPart) {
  const Tree<Array> state = put_state(layout_of({{"data", 2}, {"fsdp", 2}}));
  int64_t held = 0;
  for (const ArgumentSpec& spec : state_specs()) held += spec.shape.host_bytes();
  {
    TransferBudget budget(1 << 30, TransferDirection::kDeviceToHost);
    ASSERT_TRUE(copy_to_host(1, state, SaveShares(state), pool_).ok());
    EXPECT_EQ(budget.used_bytes(), held);
  }
  const TransferGuard guard(TransferDirection::kDeviceToHost, TransferLevel::kDisallowExplicit);
  const Status refused = copy_to_host(2, state, SaveShares(state), pool_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Disallowed device-to-host transfer"));
}

// What a step of training does with the state it is given.
TEST_F(StateCheckpointTest, WhatIsCopiedStaysWhenTheStateIsDonatedAtOnce) {
  const Layout layout = layout_of(kMeshes[1].second);
  const ArgumentSpec spec{"params.w", {DType::kF32, {1024, 2048}}, {"embed", "mlp"}};
  const std::vector<NamedShape> parameters = {{spec.path, spec.shape}};
  const auto graph = trace(
      parameters, [](Graph&, std::span<const Value> p) { return std::vector<Value>{p[0] * 0.0}; });
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto step = jit(*runtime_, **graph,
                        {.name = "forget",
                         .mesh = layout.mesh,
                         .rules = layout.rules,
                         .arguments = {logical_value(spec, layout)},
                         .results = {logical_value(spec, layout)},
                         .donate = {"params"}});
  ASSERT_TRUE(step.ok()) << step.status();
  Tree<Array> state;
  ASSERT_TRUE(state.add(spec.path, put(values_of(spec), lay_out(spec, layout)->sharding)).ok());
  const auto request = copy_to_host(1, state, SaveShares(state), pool_);
  ASSERT_TRUE(request.ok()) << request.status();
  const auto next = call(*step, state);
  ASSERT_TRUE(next.ok()) << next.status();
  ASSERT_TRUE(wait_until_ready(*next).ok());
  EXPECT_EQ(request->shards.size(), 2U) << "a replica is saved once";
  for (const auto& shard : request->shards) {
    const HostArray expected = slice(values_of(spec), shard.box);
    EXPECT_TRUE(std::ranges::equal(shard.bytes, expected.bytes())) << to_string(shard.box);
  }
  ASSERT_TRUE(sample::save(manager_, *request).ok());
}

TEST_F(StateCheckpointTest, ReplicasAreSavedOnceSpreadEvenlyOverTheirDevices) {
  for (const auto& [name, degrees] : kMeshes) {
    const Layout layout = layout_of(degrees);
    const Tree<Array> state = put_state(layout);
    const SaveShares shares(state);
    std::map<int64_t, int64_t> bytes;  // by device
    int64_t total = 0, largest = 0;
    for (const auto& [path, array] : state) {
      std::set<Box> boxes;
      for (int64_t i = 0; i < layout.mesh.size(); ++i)
        boxes.insert(array.sharding().shard_box(array.shape().dims, i));
      for (const Box& box : boxes) {
        const int64_t size = Shape{array.shape().dtype, box.dims}.host_bytes();
        bytes[shares.device_of(path, box)] += size;
        total += size;
        largest = std::max(largest, size);
      }
    }
    EXPECT_EQ(std::ssize(bytes), layout.mesh.size()) << name;
    for (const auto& [device, of_device] : bytes)
      EXPECT_LE(of_device, total / layout.mesh.size() + largest) << name << ", device " << device;
  }
}

TEST(SpreadEvenly, GivesTheLargestFirstToWhoHasLeast) {
  const std::vector<SharedWork> works = {{1, {0, 1, 2}}, {8, {0, 1}}, {5, {1, 2}},
                                         {4, {0, 1, 2}}, {7, {2}},    {0, {1}}};
  // 8 to 0, 7 to 2, 5 to 1, 4 to 1, 1 to 2.
  EXPECT_THAT(spread_evenly(works), ::testing::ElementsAre(2, 0, 1, 1, 2, 1));
  EXPECT_TRUE(spread_evenly({}).empty());
}

TEST_F(StateCheckpointTest, ASecondSaveTakesTheMemoryOfTheFirst) {
  const Layout layout = layout_of(kMeshes[1].second);
  save(1, layout);
  const int64_t reserved = pool_.reserved_bytes();
  EXPECT_GT(reserved, 0);
  for (int64_t step = 2; step < 6; ++step) save(step, layout);
  EXPECT_EQ(pool_.reserved_bytes(), reserved);
}

TEST_F(StateCheckpointTest, ShardsLargerThanAChunkAreStoredInPieces) {
  const Layout layout = layout_of({});
  const ArraySpec whole = (*save(1, layout, 16 << 20)->array_info("params.layers.mlp.up"))->spec;
  EXPECT_TRUE(whole.inner_chunk_shape.empty());
  const ArraySpec pieces = (*save(2, layout, 4 << 10)->array_info("params.layers.mlp.up"))->spec;
  EXPECT_LE(pieces.piece_bytes(), 4 << 10);
  EXPECT_EQ(pieces.pieces_per_chunk(), 2048);
}

// What has to be staged waits for room, and comes through also where there is none for one array.
TEST_F(StateCheckpointTest, AStateThatIsStagedTakesTurnsInTheRoomThereIs) {
  const Layout layout = layout_of(kMeshes[1].second);
  std::vector<ArgumentSpec> specs;
  for (int i = 0; i < 40; ++i)
    specs.push_back({str_cat("params.n", i), {DType::kU4, {64, 256}}, {"embed", "mlp"}});
  Tree<Array> state;
  for (const ArgumentSpec& spec : specs) {
    const auto value = lay_out(spec, layout);
    ASSERT_TRUE(state.add(spec.path, put(values_of(spec), value->sharding)).ok());
  }
  auto request = copy_to_host(1, state, SaveShares(state), pool_);
  ASSERT_TRUE(request.ok()) << request.status();
  ASSERT_TRUE(sample::save(manager_, *request).ok());
  const auto reader = *manager_.open(1);
  for (const int64_t room : {1, 40'000, 1 << 30}) {
    const auto restored = restore(*runtime_, *reader, specs, layout, {.staging_bytes = room});
    ASSERT_TRUE(restored.ok()) << restored.status();
    for (const ArgumentSpec& spec : specs) {
      const auto value = restored->at(spec.path).to_host();
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_TRUE(std::ranges::equal(value->bytes(), values_of(spec).bytes())) << spec.path;
    }
  }
}

TEST_F(StateCheckpointTest, DamageIsFoundWhileRestoringAndNamesTheParameter) {
  const auto reader = save(1, layout_of(kMeshes[1].second));
  const std::string chunk = "checkpoints/1/state/params/layers/mlp/up/c.0.1.0";
  std::string bytes = folder_.read(chunk);
  bytes[bytes.size() / 2] ^= 4;
  folder_.write(chunk, bytes);
  const auto state = restore(*runtime_, *reader, state_specs(), layout_of({}));
  EXPECT_TRUE(absl::IsDataLoss(state.status())) << state.status();
  EXPECT_THAT(std::string(state.status().message()),
              HasSubstr("parameter params.layers.mlp.up of checkpoint step 1"));
}

}  // namespace
}  // namespace tessera
