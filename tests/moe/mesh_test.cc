// Expert parallelism: on every mesh the losses of one device, experts that stay where they are, and
// tokens that go to them by all-to-all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "tessera/pjrt/testing.h"
#include "tests/moe/moe_run.h"

namespace tessera::moe {
namespace {

// One test each, since compiling takes its time.
struct Case {
  std::string name;
  std::optional<double> capacity_factor;
  std::vector<Degrees> meshes;
};

std::vector<Case> cases() {
  const std::vector<Case> groups = {
      {"ExpertAlone", {}, {{{"expert", 2}}, {{"expert", 4}}, {{"expert", 8}}}},
      {"WithOneOther",
       {},
       {{{"data", 2}, {"expert", 4}},
        {{"fsdp", 2}, {"expert", 4}},
        {{"tensor", 2}, {"expert", 4}},
        {{"context", 2}, {"expert", 4}}}},
      {"WithTwoOthers",
       {},
       {{{"data", 2}, {"fsdp", 2}, {"expert", 2}},
        {{"fsdp", 2}, {"tensor", 2}, {"expert", 2}},
        {{"tensor_sequence", 2}, {"fsdp_transpose", 2}, {"expert", 2}}}},
  };
  std::vector<Case> all;
  for (Case group : groups) {
    const std::string name = group.name;
    group.name = "Dropless" + name;
    all.push_back(group);
    group.name = "Capacity" + name;
    group.capacity_factor = 1.0;
    all.push_back(group);
  }
  return all;
}

int64_t degree_of(const Degrees& degrees, const std::string& axis) {
  for (const auto& [name, degree] : degrees)
    if (name == axis) return degree;
  return 1;
}

struct Traffic {
  double all_to_alls = 0;            // along expert alone, in one run
  double largest_expert_gather = 0;  // bytes of what a gather along expert gives
  std::string largest_name;
};

// The expert axis is the mesh's innermost here, so a partition's place along it is its number
// modulo the degree.
Traffic traffic(const pjrt::HloModule& module, int64_t experts) {
  Traffic found;
  module.walk([&](const auto& computation, const pjrt::HloInstruction& instruction, double times) {
    bool along = false, only = true;
    for (const auto& group : instruction.groups) {
      for (int64_t partition : group) {
        along = along || partition % experts != group[0] % experts;
        only = only && partition / experts == group[0] / experts;
      }
    }
    if (!along) return;
    if (instruction.opcode == "all-to-all" && only) found.all_to_alls += times;
    const bool gathers = instruction.opcode.starts_with("all-gather");
    if (gathers && instruction.shape.bytes() > found.largest_expert_gather) {
      found.largest_expert_gather = instruction.shape.bytes();
      found.largest_name = str_cat(instruction.name, " in ", computation.name);
    }
  });
  return found;
}

class ExpertParallelism : public ::testing::TestWithParam<Case> {};

TEST_P(ExpertParallelism, GivesTheLossesOfOneDeviceAndMovesTokensNotWeights) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  RunConfig config = small_config();
  config.model.mixture.capacity_factor = GetParam().capacity_factor;
  const auto alone = run(config, {});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_LT(alone->losses.back(), alone->losses.front() - 0.5);
  const double expert_matrix_bytes =
      static_cast<double>(config.model.llama.embed * config.model.llama.mlp * 4);
  for (const Degrees& degrees : GetParam().meshes) {
    SCOPED_TRACE(to_string(degrees));
    const auto split = run(config, degrees);
    ASSERT_TRUE(split.ok()) << split.status();
    const double difference = furthest(split->losses, alone->losses);
    EXPECT_LE(difference, 1e-4);
    const Traffic moved = traffic(split->module, degree_of(degrees, "expert"));
    // Two layers; there and back, in the forward and the reverse pass.
    EXPECT_GE(moved.all_to_alls, 8);
    EXPECT_LT(moved.largest_expert_gather, expert_matrix_bytes) << moved.largest_name;
    std::cout << to_string(degrees) << ": losses differ by " << difference << ", "
              << moved.all_to_alls << " all-to-all, largest gather along expert "
              << moved.largest_expert_gather << " bytes\n"
              << std::flush;
  }
}

// The same with the layers on two stages, whose rows' sums are added up.
TEST(MixtureInAPipeline, GivesTheLossesOfOneDevice) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto alone = run(small_config(), {});
  ASSERT_TRUE(alone.ok()) << alone.status();
  const std::vector<Degrees> meshes = {{{"stage", 2}, {"fsdp", 2}, {"expert", 2}},
                                       {{"stage", 2}, {"context", 2}}};
  for (const Degrees& degrees : meshes) {
    SCOPED_TRACE(to_string(degrees));
    const auto split = run(small_config(), degrees);
    ASSERT_TRUE(split.ok()) << split.status();
    EXPECT_LE(furthest(split->losses, alone->losses), 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, ExpertParallelism, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::moe
