#include "tessera/train/same_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SameRun, DifferencesAreNamedWithBothValues) {
  const Json leaders = {{"schedule", {{"learning_rate", 0.1}}}, {"plugin", {{"devices", 4}}}};
  Json own = leaders;
  EXPECT_THAT(setting_differences(own, leaders), IsEmpty());
  own["schedule"]["learning_rate"] = 0.2;
  own["plugin"]["devices"] = nullptr;
  own["new"] = true;
  EXPECT_THAT(setting_differences(own, leaders),
              ElementsAre("schedule.learning_rate is 0.2, and 0.1 on process 0",
                          "plugin.devices is null, and 4 on process 0",
                          "new is true, and null on process 0"));
}

// Hosts may have the same disk elsewhere; what is there is looked at itself.
TEST(SameRun, PathsOfWhatIsLookedAtMayDiffer) {
  const auto config = [](const std::string& where) -> Json {
    return {{"output_directory", where + "/run"},
            {"logging", {{"interval", where.size()}}},
            {"data", {{"store", where + "/tokens"}, {"corpus", {where}}, {"shuffle_seed", 0}}}};
  };
  Json own = config("here");
  EXPECT_THAT(setting_differences(own, config("there")), IsEmpty());
  own["data"]["shuffle_seed"] = 1;
  EXPECT_THAT(setting_differences(own, config("there")),
              ElementsAre("data.shuffle_seed is 1, and 0 on process 0"));
}

}  // namespace
}  // namespace tessera
