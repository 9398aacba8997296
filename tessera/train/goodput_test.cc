#include "tessera/train/goodput.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace tessera {
namespace {

double sum(const Goodput& goodput) {
  const auto seconds = goodput.seconds();
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

TEST(GoodputTest, EverySecondIsOfOneKind) {
  FakeClock clock;
  Goodput goodput(clock);
  clock.advance(absl::Seconds(3));
  {
    const Goodput::Scope compile(goodput, Goodput::kCompile);
    clock.advance(absl::Seconds(5));
  }
  clock.advance(absl::Seconds(1));
  goodput.enter(Goodput::kTraining);
  clock.advance(absl::Seconds(7));
  {
    const Goodput::Scope save(goodput, Goodput::kCheckpoint);
    clock.advance(absl::Seconds(2));
    const Goodput::Scope data(goodput, Goodput::kDataWait);
    clock.advance(absl::Seconds(4));
  }
  clock.advance(absl::Seconds(10));
  const auto seconds = goodput.seconds();
  EXPECT_NEAR(seconds[Goodput::kStart], 4, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kCompile], 5, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kTraining], 17, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kCheckpoint], 2, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kDataWait], 4, 1e-6);
  EXPECT_NEAR(goodput.wall_seconds(), 32, 1e-6);
  EXPECT_NEAR(sum(goodput), 32, 1e-6);
}

TEST(GoodputTest, WhatWasMadeAfterTheCheckpointIsLost) {
  FakeClock clock;
  Json saved;
  {
    Goodput first(clock);
    first.enter(Goodput::kTraining);
    clock.advance(absl::Seconds(100));
    saved = Json::parse(first.to_json(/*stops=*/false).dump());
    clock.advance(absl::Seconds(40));  // and dies
  }
  clock.advance(absl::Seconds(20));
  Goodput second(clock);
  clock.advance(absl::Seconds(5));
  second.resumed(saved);
  second.enter(Goodput::kTraining);
  clock.advance(absl::Seconds(30));
  const auto seconds = second.seconds();
  EXPECT_NEAR(seconds[Goodput::kTraining], 130, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kLost], 60, 1e-6);
  EXPECT_NEAR(seconds[Goodput::kStart], 5, 1e-6);
  EXPECT_NEAR(second.wall_seconds(), 195, 1e-6);
  EXPECT_NEAR(sum(second), 195, 1e-6);
}

TEST(GoodputTest, TimeBetweenAStopAndTheNextStartIsNotLost) {
  FakeClock clock;
  Goodput first(clock);
  clock.advance(absl::Seconds(10));
  const Json saved = first.to_json(/*stops=*/true);
  clock.advance(absl::Hours(8));
  Goodput second(clock);
  second.resumed(saved);
  EXPECT_NEAR(second.seconds()[Goodput::kStopped], 8 * 3600, 1e-6);
  EXPECT_NEAR(second.seconds()[Goodput::kLost], 0, 1e-6);
}

TEST(GoodputTest, InOneProcessTheSameHolds) {
  FakeClock clock;
  Goodput goodput(clock);
  goodput.enter(Goodput::kTraining);
  clock.advance(absl::Seconds(50));
  const Json saved = goodput.to_json(false);
  clock.advance(absl::Seconds(7));
  goodput.begin_again();
  EXPECT_NEAR(goodput.seconds()[Goodput::kLost], 57, 1e-6) << "until a checkpoint is found";
  clock.advance(absl::Seconds(3));
  goodput.resumed(saved);
  EXPECT_NEAR(goodput.seconds()[Goodput::kLost], 7, 1e-6);
  EXPECT_NEAR(goodput.seconds()[Goodput::kTraining], 50, 1e-6);
  EXPECT_NEAR(sum(goodput), goodput.wall_seconds(), 1e-6);
}

TEST(GoodputTest, WhatNobodyWroteIsIgnored) {
  FakeClock clock;
  Goodput goodput(clock);
  clock.advance(absl::Seconds(1));
  for (const char* text : {"null", "3", "{}", R"({"training": -4})", R"({"start": "x"})"})
    goodput.resumed(Json::parse(text));
  EXPECT_NEAR(sum(goodput), 1, 1e-6);
  EXPECT_EQ(to_text(goodput.seconds()), "start 1.0 s (100.0 %)");
}

}  // namespace
}  // namespace tessera
