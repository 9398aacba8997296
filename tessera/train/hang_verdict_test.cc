#include "tessera/train/hang_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kAllReduce[] = "all-reduce among devices 0, 1, 2 for 61.2 s\n";

ProcessReport waits(int64_t position, const std::string& collectives = kAllReduce) {
  return {.trains = true,
          .position = position,
          .activity = "waiting for the end of step 12",
          .seconds = 61,
          .stalled = true,
          .collectives = collectives,
          .stack = "  wait()\n",
          .threads = "thread worker (7):\n  compute()\n"};
}

ProcessReport reads(int64_t position, bool stalled) {
  ProcessReport report = waits(position, "");
  report.activity = "reading the batch of step 12";
  report.stalled = stalled;
  report.stack = "  read()\n";
  return report;
}

TEST(HangVerdictTest, WhoHasComeTheLeastFarHoldsUpTheOthers) {
  const HangVerdict verdict = judge_hang(0, 3, {{0, waits(9)}, {1, reads(7, true)}, {2, waits(9)}});
  EXPECT_TRUE(verdict.is_final);
  EXPECT_THAT(verdict.stuck, ElementsAre(1));
  EXPECT_EQ(verdict.message,
            "process 1 does not get on: for 61 s it has been reading the batch of step 12, here:\n"
            "  read()\n"
            "processes 0, 2 have been waiting for that in all-reduce among devices 0, 1, 2 "
            "(waiting for the end of step 12)");
}

TEST(HangVerdictTest, NobodyIsNamedWhileTheOneBehindGetsOn) {
  EXPECT_FALSE(judge_hang(0, 3, {{0, waits(9)}, {1, reads(7, false)}, {2, waits(9)}}).is_final);
}

TEST(HangVerdictTest, WhoIsBehindLeavesItToTheOthers) {
  EXPECT_FALSE(judge_hang(1, 3, {{0, waits(9)}, {1, reads(7, true)}, {2, waits(9)}}).is_final);
}

TEST(HangVerdictTest, WhoIsStillOnTheWayToTheLoopIsBehindAll) {
  ProcessReport compiles = reads(400, true);
  compiles.trains = false;
  compiles.activity = "compiling";
  const HangVerdict verdict = judge_hang(0, 2, {{0, waits(3)}, {1, compiles}});
  EXPECT_THAT(verdict.stuck, ElementsAre(1));
  EXPECT_THAT(verdict.message, HasSubstr("for 61 s it has been compiling"));
}

TEST(HangVerdictTest, WhoHasSaidNothingIsBehindAll) {
  const HangVerdict verdict = judge_hang(0, 2, {{0, waits(3)}});
  EXPECT_THAT(verdict.stuck, ElementsAre(1));
  EXPECT_THAT(verdict.message, HasSubstr("process 1 does not get on: it has not come to"));
}

TEST(HangVerdictTest, WhereAllHaveComeAsFarTheOneInNoCollectiveIsStuck) {
  const HangVerdict verdict = judge_hang(0, 3, {{0, waits(9)}, {1, waits(9)}, {2, waits(9, "")}});
  EXPECT_THAT(verdict.stuck, ElementsAre(2));
  // Its training thread waits for its devices, so all threads are shown.
  EXPECT_THAT(verdict.message, AllOf(HasSubstr("compute()"), HasSubstr("processes 0, 1 have")));
}

TEST(HangVerdictTest, NobodyIsNamedBeforeAllAreStalled) {
  ProcessReport fresh = waits(9);
  fresh.stalled = false;
  EXPECT_FALSE(judge_hang(0, 2, {{0, waits(9)}, {1, fresh}}).is_final);
}

TEST(HangVerdictTest, WhereAllWaitAlikeNobodyIsNamed) {
  const HangVerdict verdict = judge_hang(0, 2, {{0, waits(9)}, {1, waits(9)}});
  EXPECT_TRUE(verdict.is_final);
  EXPECT_THAT(verdict.stuck, IsEmpty());
  EXPECT_THAT(verdict.message,
              AllOf(HasSubstr("no process gets on"), HasSubstr("process 1: for 61 s waiting for"),
                    HasSubstr("in all-reduce among devices 0, 1, 2"), Not(HasSubstr("61.2"))));
}

TEST(HangVerdictTest, OneAloneHoldsUpItself) {
  const HangVerdict verdict = judge_hang(0, 1, {{0, reads(7, true)}});
  EXPECT_TRUE(verdict.is_final);
  EXPECT_THAT(verdict.stuck, ElementsAre(0));
  EXPECT_THAT(verdict.message, AllOf(HasSubstr("  read()\n"), Not(HasSubstr("waiting for that"))));
}

TEST(HangVerdictTest, ReportsGoThroughText) {
  ProcessReport report = waits(9);
  report.incarnation = 0xffff'ffff'ffff'ffff;
  report.steps = 3;
  report.own_seconds = 0.25;
  const auto back = ProcessReport::parse(report.to_text());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->to_text(), report.to_text());
  EXPECT_EQ(back->incarnation, report.incarnation);
  EXPECT_EQ(back->collectives, kAllReduce);
  for (const char* bad : {"", "[]", "{}", "{\"incarnation\":\"x\"}"})
    EXPECT_FALSE(ProcessReport::parse(bad).ok()) << bad;
}

}  // namespace
}  // namespace tessera
