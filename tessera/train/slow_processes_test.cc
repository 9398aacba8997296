#include "tessera/train/slow_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ProcessReport works(double own_seconds, double step_seconds = 1, double data_seconds = 0) {
  ProcessReport report;
  report.steps = 5;
  report.step_seconds = step_seconds;
  report.own_seconds = own_seconds;
  report.data_seconds = data_seconds;
  return report;
}

TEST(SlowProcessesTest, NamesWhoWorksMuchLongerThanTheMedianAndWhenThatEnds) {
  SlowProcesses slow(1.5);
  const std::map<int, ProcessReport> alike = {{0, works(0.5)}, {1, works(0.55)}, {2, works(0.5)}};
  const std::map<int, ProcessReport> uneven = {
      {0, works(0.5)}, {1, works(0.5)}, {2, works(0.95, 1, 0.4)}};
  EXPECT_THAT(slow.look(alike), IsEmpty());
  EXPECT_THAT(slow.look(uneven), IsEmpty());  // it may have been once
  EXPECT_THAT(slow.look(alike), IsEmpty());
  EXPECT_THAT(slow.look(uneven), IsEmpty());
  EXPECT_THAT(
      slow.look(uneven),
      ElementsAre("process 2 holds up the others: of a step of 1.000 s it works 0.950 s "
                  "itself, 0.400 s of which it waits for data; half of the 3 processes work "
                  "at most 0.500 s"));
  EXPECT_THAT(slow.look(uneven), IsEmpty());  // it is known
  EXPECT_THAT(slow.look(alike), IsEmpty());
  EXPECT_THAT(slow.look(alike), ElementsAre("process 2 holds up the others no longer"));
}

TEST(SlowProcessesTest, OfTwoTheSlowerIsComparedWithTheOther) {
  SlowProcesses slow(1.5);
  slow.look({{0, works(0.9)}, {1, works(0.4)}});
  EXPECT_THAT(slow.look({{0, works(0.9)}, {1, works(0.4)}}), ElementsAre(HasSubstr("process 0 ")));
}

TEST(SlowProcessesTest, WhatIsASmallShareOfTheStepHoldsNobodyUp) {
  SlowProcesses slow(1.5);
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(slow.look({{0, works(0.01)}, {1, works(0.01)}, {2, works(0.05)}}), IsEmpty());
}

TEST(SlowProcessesTest, WhoHasMadeNoStepsIsNotCompared) {
  SlowProcesses slow(1.5);
  ProcessReport none = works(9);
  none.steps = 0;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(slow.look({{0, works(0.5)}, {1, none}}), IsEmpty());
  EXPECT_THAT(slow.look({}), IsEmpty());
}

}  // namespace
}  // namespace tessera
