#include "tessera/sharding/partition_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const AxisRules& rules() {
  static const AxisRules rules({{"batch", {"data", "fsdp"}},
                                {"vocab", {"tensor"}},
                                {"embed", {"fsdp", "tensor"}},
                                {"embed", {"fsdp"}},
                                {"mlp", {"tensor"}},
                                {"norm", {}}});
  return rules;
}

std::string resolve(std::vector<std::string> names, std::vector<MeshAxis> axes) {
  int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  const auto mesh = Mesh::create(std::move(axes), devices);
  const auto spec = rules().resolve(names, *mesh);
  return spec.ok() ? to_string(*spec) : std::string(spec.status().message());
}

const std::vector<MeshAxis> kFull = {{"data", 2}, {"fsdp", 2}, {"tensor", 2}};

TEST(AxisRules, TakeAllAxesOfTheFirstRule) {
  EXPECT_EQ(resolve({"batch", "", "embed"}, kFull), "[(data,fsdp),_,_]");
  EXPECT_EQ(resolve({"embed"}, kFull), "[(fsdp,tensor)]");
  EXPECT_EQ(resolve({"norm", "mlp"}, kFull), "[_,tensor]");
}

TEST(AxisRules, FallBackWhenAnAxisIsTaken) {
  // vocab stands before embed in the table, so it takes tensor although it is the second dimension.
  EXPECT_EQ(resolve({"embed", "vocab"}, kFull), "[fsdp,tensor]");
  // mlp comes after both rules of embed, of which the first is free.
  EXPECT_EQ(resolve({"embed", "mlp"}, kFull), "[(fsdp,tensor),_]");
}

TEST(AxisRules, DropAxesOfSizeOneBeforeLookingForConflicts) {
  EXPECT_EQ(resolve({"embed", "mlp"}, {{"data", 4}, {"fsdp", 2}, {"tensor", 1}}), "[fsdp,_]");
  EXPECT_EQ(resolve({"batch", "embed"}, {{"data", 4}, {"fsdp", 1}, {"tensor", 2}}),
            "[data,tensor]");
  EXPECT_EQ(resolve({"batch", "embed"}, {{"data", 1}, {"fsdp", 1}, {"tensor", 1}}), "[_,_]");
}

TEST(AxisRules, MayBeATableOfOneRule) {
  const AxisRules one({{"batch", {"data"}}});
  const std::vector<AxisRule> expected = {{"batch", {"data"}}};
  EXPECT_THAT(one.rules(), ElementsAreArray(expected));
  EXPECT_THAT(AxisRules(expected).rules(), ElementsAreArray(expected));
  EXPECT_THAT(AxisRules({{"batch", {"data"}}, {"norm", {}}}).rules(), SizeIs(2));
}

TEST(AxisRules, UnknownNamesAndAxesAreErrors) {
  EXPECT_THAT(resolve({"embd"}, kFull), HasSubstr("'embd'; did you mean 'embed'?"));
  EXPECT_THAT(resolve({"embed"}, {{"data", 2}, {"fsdp", 2}}),
              HasSubstr("'vocab' names axis 'tensor', which the mesh does not have"));
}

TEST(AxisRules, OverridesReplaceAllRulesOfAName) {
  const std::vector<AxisRule> overrides = {{"embed", {"data"}}, {"extra", {"fsdp"}}};
  const AxisRules merged = rules().with(overrides);
  const std::vector<AxisRule> expected = {
      {"batch", {"data", "fsdp"}}, {"vocab", {"tensor"}}, {"embed", {"data"}},
      {"mlp", {"tensor"}},         {"norm", {}},          {"extra", {"fsdp"}}};
  EXPECT_EQ(std::vector(merged.rules().begin(), merged.rules().end()), expected);
}

}  // namespace
}  // namespace tessera
