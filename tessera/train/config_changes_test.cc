#include "tessera/train/config_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ConfigChanges, NamesEachKeyThatDiffersWithBothValues) {
  const Json before = Json::parse(
      R"({"training": {"batch_size": 16, "seed": 0}, "schedule": {"learning_rate": 0.003},
          "data": {"corpus": ["a"]}})");
  const Json now = Json::parse(
      R"({"training": {"batch_size": 8, "seed": 0}, "schedule": {"learning_rate": 0.001},
          "data": {"corpus": ["a", "b"]}})");
  EXPECT_THAT(config_changes(before, now),
              ElementsAre("training.batch_size 16 -> 8", "schedule.learning_rate 0.003 -> 0.001",
                          R"(data.corpus ["a"] -> ["a","b"])"));
  EXPECT_THAT(config_changes(now, now), IsEmpty());
}

TEST(ConfigChanges, LeavesOutWhatIsNotComputedWithAndWhatOnlyOneHas) {
  const Json before = Json::parse(
      R"({"output_directory": "a", "logging": {"interval": 1}, "model": {"layers": 2}})");
  const Json now = Json::parse(
      R"({"output_directory": "b", "logging": {"interval": 9}, "model": {"layers": 2, "new": 1},
          "another": {}})");
  EXPECT_THAT(config_changes(before, now), IsEmpty());
}

TEST(ConfigChanges, TakesAManifestWithoutAConfig) {
  EXPECT_THAT(config_changes(Json(), Json::parse(R"({"model": {"layers": 2}})")), IsEmpty());
}

}  // namespace
}  // namespace tessera
