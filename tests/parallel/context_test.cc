#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/pjrt/testing.h"
#include "tests/parallel/runs.h"

// A sequence that is split over devices trains as one that is not.

namespace tessera::parallel_testing {
namespace {

struct Way {
  ContextStrategy strategy = ContextStrategy::kAllGather;
  bool balanced = false;
  bool crosses_documents = false;
};

RunConfig config_of(const Way& way) {
  RunConfig config = small_config();
  config.training.context_parallel_strategy = way.strategy;
  config.training.context_parallel_load_balance = way.balanced;
  config.training.attend_across_documents = way.crosses_documents;
  return config;
}

void expect_one_device(const Way& way, const Degrees& degrees) {
  const auto expected = losses(config_of(way), {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  const auto got = losses(config_of(way), degrees);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_LE(worst_error(*got, *expected), 1e-5);
  EXPECT_LT(expected->back(), expected->front());
  ::testing::Test::RecordProperty("worst_error", str_cat(worst_error(*got, *expected)));
}

constexpr Way kGather{ContextStrategy::kAllGather, false, false};
constexpr Way kBalancedGather{ContextStrategy::kAllGather, true, false};
constexpr Way kRing{ContextStrategy::kRing, false, false};
constexpr Way kBalancedRing{ContextStrategy::kRing, true, false};

TEST(Context, GatheredKeysGiveTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device(kGather, {{"context", 4}});
  expect_one_device(kBalancedGather, {{"fsdp", 2}, {"context", 2}, {"tensor", 2}});
}

TEST(Context, ARingGivesTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device(kRing, {{"context", 2}});
  expect_one_device(kBalancedRing, {{"context", 8}});
  expect_one_device(kBalancedRing, {{"fsdp", 2}, {"context", 2}, {"tensor", 2}});
}

TEST(Context, DocumentsMayBeCrossed) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device({ContextStrategy::kRing, true, true}, {{"context", 4}});
  expect_one_device({ContextStrategy::kAllGather, true, true}, {{"context", 4}});
}

TEST(Context, ARingCanBeRematerialized) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = config_of(kBalancedRing);
  const auto expected = losses(config, {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  config.training.remat = true;
  const auto got = losses(config, {{"data", 2}, {"context", 2}});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_LE(worst_error(*got, *expected), 1e-5);
}

// Which elements are left out depends on their places in the sequence, not in the order of columns.
TEST(Context, DropoutLeavesOutTheSameElementsInAnyOrder) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = config_of(kBalancedGather);
  const auto without = losses(config, {}, 3);
  config.training.dropout = 0.2;
  const auto expected = losses(config, {}, 3);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_GT(worst_error(*without, *expected), 1e-3);
  for (const ContextStrategy strategy : {ContextStrategy::kAllGather, ContextStrategy::kRing}) {
    config.training.context_parallel_strategy = strategy;
    const auto got = losses(config, {{"context", 4}}, 3);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_LE(worst_error(*got, *expected), 1e-5);
  }
}

TEST(TensorSequence, GivesTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  expect_one_device({}, {{"tensor_sequence", 2}});
  expect_one_device({}, {{"fsdp", 2}, {"tensor_sequence", 4}});
}

double largest_part(const pjrt::HloShape& shape) {
  double elements = shape.parts.empty() ? shape.elements() : 0;
  for (const pjrt::HloShape& part : shape.parts) elements = std::max(elements, largest_part(part));
  return elements;
}

// The most that any use of an instruction makes of it, seen through what only renames it.
double largest_use(const pjrt::HloComputation& computation, int64_t id) {
  double most = 0;
  for (const pjrt::HloInstruction& user : computation.instructions) {
    const auto& operands = user.operands;
    if (std::find(operands.begin(), operands.end(), id) == operands.end()) continue;
    const bool renames =
        user.opcode == "get-tuple-element" || user.opcode == "bitcast" || user.opcode == "copy";
    most = std::max(most, renames ? largest_use(computation, user.id) : largest_part(user.shape));
  }
  return most;
}

// Each block gathers the stream; of its sum each device keeps a part. (A compiler with a pass for
// it, as those for GPU and TPU have, makes a reduce-scatter of sum and slice; XLA's for CPU has
// none.)
TEST(TensorSequence, GathersTheStreamAndKeepsPartsOfSums) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const RunConfig config = small_config();
  const auto module = compiled_step(config, {{"tensor_sequence", 4}});
  ASSERT_TRUE(module.ok()) << module.status();
  const double stream = static_cast<double>(config.training.tokens_per_step()) *
                        static_cast<double>(config.model.llama.embed);
  int gathers = 0, sums = 0;
  module->walk([&](const pjrt::HloComputation& computation, const pjrt::HloInstruction& instruction,
                   double times) {
    if (largest_part(instruction.shape) != stream || times < 2) return;  // not in the layers' loop
    gathers += instruction.opcode == "all-gather";
    if (instruction.opcode != "all-reduce") return;
    ++sums;
    EXPECT_LE(largest_use(computation, instruction.id), stream / 4) << instruction.name;
  });
  // Attention and feed-forward, forward; and as many of the other kind in the reverse pass.
  EXPECT_GE(gathers, 4);
  EXPECT_LE(sums, 4);
}

}  // namespace
}  // namespace tessera::parallel_testing
