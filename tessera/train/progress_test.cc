#include "tessera/train/progress.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Progress, TimeLeftComesFromTheStepsThemselvesNotFromWhatCameBefore) {
  FakeClock clock;
  Progress progress(10, clock);
  clock.advance(absl::Minutes(30));  // compilation
  progress.done(1);
  EXPECT_FALSE(progress.time_left().has_value());
  for (int step = 2; step <= 4; ++step) {
    clock.advance(absl::Seconds(2));
    progress.done(step);
  }
  EXPECT_EQ(progress.time_left(), absl::Seconds(12));
}

TEST(Progress, AResumedRunCountsOnlyItsOwnSteps) {
  FakeClock clock;
  Progress progress(1000, clock);
  progress.done(501);
  clock.advance(absl::Seconds(1));
  progress.done(502);
  EXPECT_EQ(progress.time_left(), absl::Seconds(498));
}

TEST(Progress, TheTextShowsBarShareStepsAndTimeLeft) {
  FakeClock clock;
  Progress progress(8, clock);
  EXPECT_EQ(progress.text(8), "[........] 0 % 0/8");
  progress.done(1);
  clock.advance(absl::Seconds(10));
  progress.done(2);
  EXPECT_EQ(progress.text(8), "[##......] 25 % 2/8, 1:00 left");
  clock.advance(absl::Seconds(60));
  progress.done(8);
  EXPECT_EQ(progress.text(8), "[########] 100 % 8/8, 0:00 left");
}

TEST(Progress, DurationsReadAsPeopleWriteThem) {
  EXPECT_EQ(duration_text(absl::ZeroDuration()), "0:00");
  EXPECT_EQ(duration_text(absl::Milliseconds(59500)), "1:00");
  EXPECT_EQ(duration_text(absl::Seconds(725)), "12:05");
  EXPECT_EQ(duration_text(absl::Hours(3) + absl::Seconds(429)), "3:07:09");
  EXPECT_EQ(duration_text(absl::Hours(24)), "1 day 00:00:00");
  EXPECT_EQ(duration_text(absl::Hours(50)), "2 days 02:00:00");
  EXPECT_EQ(duration_text(-absl::Hours(1)), "0:00");
}

}  // namespace
}  // namespace tessera
