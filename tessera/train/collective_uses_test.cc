#include "tessera/train/collective_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;
using pjrt::HloModule;
using pjrt::HloShape;
using ::testing::ElementsAre;
using ::testing::SizeIs;

HloInstruction instruction(int64_t id, const std::string& opcode, double elements,
                           std::vector<int64_t> operands = {}) {
  HloInstruction made;
  made.id = id;
  made.opcode = opcode;
  made.shape = HloShape{.element_bytes = 4, .dims = {static_cast<int64_t>(elements)}, .parts = {}};
  made.operands = std::move(operands);
  return made;
}

TEST(CollectiveUses, AreThoseOfOneRunWithLoopsUnrolled) {
  HloInstruction loop = instruction(3, "while", 1);
  loop.called = {1};
  loop.trip_count = 5;
  HloInstruction gather = instruction(2, "all-gather-start", 40, {1});
  gather.groups = {{0, 1}, {2, 3}};
  HloInstruction permute = instruction(2, "collective-permute", 10, {1});
  permute.source_target_pairs = {{0, 1}, {1, 0}};
  HloModule module;
  module.entry = 0;
  module.computations[0] = {
      0,
      "main",
      {instruction(1, "parameter", 20), gather, instruction(5, "all-gather-done", 40, {2}), loop,
       instruction(4, "all-reduce", 20, {1})}};
  module.computations[1] = {1, "body", {instruction(1, "parameter", 10), permute}};
  const std::vector<CollectiveUse> uses = collective_uses(module, 4);
  ASSERT_THAT(uses, SizeIs(3));
  EXPECT_EQ(uses[0].kind, "all-gather");
  EXPECT_EQ(uses[0].bytes, 160);  // of the result
  EXPECT_THAT(uses[0].groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_EQ(uses[1].kind, "collective-permute");
  EXPECT_EQ(uses[1].times, 5);
  EXPECT_EQ(uses[1].bytes, 40);
  EXPECT_EQ(uses[2].kind, "all-reduce");
  EXPECT_EQ(uses[2].bytes, 80);
  EXPECT_THAT(uses[2].groups, ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(CollectiveUses, InsideABranchMayNotHappen) {
  HloInstruction choice = instruction(2, "conditional", 1, {1});
  choice.called = {1, 2};
  HloInstruction call = instruction(3, "call", 1);
  call.called = {3};
  HloModule module;
  module.computations[0] = {0, "main", {instruction(1, "parameter", 1), choice}};
  module.computations[1] = {1, "yes", {call}};
  module.computations[2] = {2, "no", {instruction(1, "parameter", 10)}};
  module.computations[3] = {
      3, "called", {instruction(1, "parameter", 10), instruction(2, "all-reduce", 10, {1})}};
  const std::vector<CollectiveUse> uses = collective_uses(module, 2);
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_TRUE(uses[0].conditional);
  EXPECT_EQ(least_bytes_sent(uses, {0, 1}, 0), 0);
}

CollectiveUse use(const std::string& kind, std::vector<std::vector<int64_t>> groups,
                  double bytes = 120) {
  return {.kind = kind, .groups = std::move(groups), .times = 1, .bytes = bytes};
}

TEST(LeastBytesSent, OfProcessesWithOneDeviceEach) {
  const std::vector<int64_t> processes = {0, 1, 2, 3};
  const auto of = [&](const std::string& kind) {
    return least_bytes_sent({use(kind, {{0, 1, 2, 3}})}, processes, 1);
  };
  EXPECT_EQ(of("all-reduce"), 180);     // 2 * 3/4
  EXPECT_EQ(of("all-gather"), 90);      // a share of 30 to three
  EXPECT_EQ(of("reduce-scatter"), 90);  // three shares of 30
  EXPECT_EQ(of("all-to-all"), 90);
}

TEST(LeastBytesSent, WhatDevicesOfAProcessHoldGoesToAnotherOnce) {
  const std::vector<int64_t> processes = {0, 0, 1, 1};
  const auto of = [&](const std::string& kind) {
    return least_bytes_sent({use(kind, {{0, 1, 2, 3}})}, processes, 0);
  };
  EXPECT_EQ(of("all-reduce"), 120);  // as of two
  EXPECT_EQ(of("all-gather"), 60);
  EXPECT_EQ(of("reduce-scatter"), 60);
  EXPECT_EQ(of("all-to-all"), 120);  // half of what each of the two has
}

TEST(LeastBytesSent, GroupsInsideAProcessSendNothing) {
  const std::vector<int64_t> processes = {0, 0, 1, 1};
  EXPECT_EQ(least_bytes_sent({use("all-reduce", {{0, 1}, {2, 3}})}, processes, 0), 0);
  EXPECT_EQ(least_bytes_sent({use("all-reduce", {{0, 2}, {1, 3}})}, processes, 0), 240);
  EXPECT_EQ(least_bytes_sent({}, processes, 0), 0);
  EXPECT_EQ(least_bytes_sent({use("all-reduce", {{0, 1, 2, 3}})}, processes, 2), 0);
}

TEST(LeastBytesSent, APermuteCostsItsSource) {
  const std::vector<int64_t> processes = {0, 0, 1};
  const CollectiveUse ring = use("collective-permute", {{0, 1}, {1, 2}, {2, 0}}, 8);
  EXPECT_EQ(least_bytes_sent({ring}, processes, 0), 8);
  EXPECT_EQ(least_bytes_sent({ring}, processes, 1), 8);
}

TEST(LeastBytesSent, UnevenShares) {
  const std::vector<int64_t> processes = {0, 0, 0, 1};
  const std::vector<CollectiveUse> gather = {use("all-gather", {{0, 1, 2, 3}})};
  EXPECT_EQ(least_bytes_sent(gather, processes, 0), 90);
  EXPECT_EQ(least_bytes_sent(gather, processes, 1), 30);
}

}  // namespace
}  // namespace tessera
