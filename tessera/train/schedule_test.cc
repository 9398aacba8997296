#include "tessera/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace tessera {
namespace {

using Kind = ScheduleConfig::Kind;

ScheduleConfig make(Kind kind, int64_t steps, int64_t warmup, int64_t decay = 0) {
  return ScheduleConfig{.kind = kind,
                        .learning_rate = 3e-4,
                        .final_fraction = 0.1,
                        .warmup_steps = warmup,
                        .decay_steps = decay,
                        .steps = steps};
}

TEST(Schedule, TheFirstStepIsNotWastedAndTheLastWarmupStepIsThePeakExactly) {
  for (const Kind kind : {Kind::kCosine, Kind::kLinear, Kind::kConstant, Kind::kWsd}) {
    const ScheduleConfig schedule = make(kind, 100, 7, 10);
    EXPECT_EQ(learning_rate(schedule, 1), 3e-4 * (1.0 / 7));
    EXPECT_EQ(learning_rate(schedule, 7), 3e-4);
  }
}

TEST(Schedule, TheLastStepHasTheFinalValueExactlyAndLaterStepsKeepIt) {
  for (const Kind kind : {Kind::kCosine, Kind::kLinear, Kind::kWsd}) {
    const ScheduleConfig schedule = make(kind, 100, 7, 10);
    EXPECT_EQ(learning_rate(schedule, 100), 3e-4 * 0.1);
    EXPECT_EQ(learning_rate(schedule, 1000), 3e-4 * 0.1);
    EXPECT_GT(learning_rate(schedule, 99), 3e-4 * 0.1);
  }
  EXPECT_EQ(learning_rate(make(Kind::kConstant, 100, 7), 1000), 3e-4);
}

TEST(Schedule, CosineIsHalfwayInTheMiddleAndFollowsTheFormula) {
  const ScheduleConfig schedule = make(Kind::kCosine, 110, 10);
  EXPECT_NEAR(learning_rate(schedule, 60), 3e-4 * 0.55, 1e-18);
  EXPECT_NEAR(learning_rate(schedule, 35),
              3e-4 * (0.1 + 0.9 * (1 + std::cos(std::numbers::pi / 4)) / 2), 1e-18);
}

TEST(Schedule, LinearFallsByEqualAmounts) {
  const ScheduleConfig schedule = make(Kind::kLinear, 110, 10);
  for (int64_t step = 11; step < 110; ++step) {
    EXPECT_NEAR(learning_rate(schedule, step) - learning_rate(schedule, step + 1), 3e-4 * 0.9 / 100,
                1e-16);
  }
}

TEST(Schedule, WsdStaysAtThePeakUntilItsDecay) {
  const ScheduleConfig schedule = make(Kind::kWsd, 100, 5, 20);
  EXPECT_EQ(learning_rate(schedule, 6), 3e-4);
  EXPECT_EQ(learning_rate(schedule, 80), 3e-4);
  EXPECT_LT(learning_rate(schedule, 81), 3e-4);
  EXPECT_NEAR(learning_rate(schedule, 90), 3e-4 * 0.55, 1e-18);
}

TEST(Schedule, NeverGoesUpAfterTheWarmupAndNeverBelowTheFinalValue) {
  for (const Kind kind : {Kind::kCosine, Kind::kLinear, Kind::kWsd}) {
    const ScheduleConfig schedule = make(kind, 1000, 10, 300);
    for (int64_t step = 10; step < 1000; ++step) {
      EXPECT_LE(learning_rate(schedule, step + 1), learning_rate(schedule, step));
      EXPECT_GE(learning_rate(schedule, step), 3e-4 * 0.1);
    }
  }
}

TEST(Schedule, WithoutWarmupTheFirstStepIsJustBelowThePeak) {
  const ScheduleConfig schedule = make(Kind::kLinear, 10, 0);
  EXPECT_NEAR(learning_rate(schedule, 1), 3e-4 * (1 - 0.9 / 10), 1e-18);
}

TEST(Schedule, AnOpenScheduleIsFilledFromTheRunAndFitsAnyLength) {
  for (int64_t steps = 1; steps < 300; ++steps) {
    for (const Kind kind : {Kind::kCosine, Kind::kWsd}) {
      const ScheduleConfig schedule = ScheduleConfig{.kind = kind}.resolved(steps);
      EXPECT_TRUE(schedule.validate_resolved().ok()) << steps;
      for (int64_t step = 1; step <= steps; ++step) EXPECT_GT(learning_rate(schedule, step), 0);
    }
  }
  const ScheduleConfig schedule = ScheduleConfig{}.resolved(1000);
  EXPECT_EQ(schedule.warmup_steps, 10);
  EXPECT_EQ(schedule.decay_steps, 100);
  EXPECT_EQ(schedule.steps, 1000);
}

TEST(Schedule, PartsThatAreLongerThanTheRunAreAnError) {
  EXPECT_FALSE(make(Kind::kCosine, 10, 11).validate_resolved().ok());
  EXPECT_TRUE(make(Kind::kCosine, 10, 10).validate_resolved().ok());
  EXPECT_FALSE(make(Kind::kWsd, 10, 5, 6).validate_resolved().ok());
}

}  // namespace
}  // namespace tessera
