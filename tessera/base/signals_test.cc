#include "tessera/base/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace tessera {
namespace {

TEST(InterruptGuard, TheFirstSignalOnlySetsAFlag) {
  InterruptGuard guard;
  EXPECT_FALSE(guard.interrupted());
  std::raise(SIGTERM);
  EXPECT_TRUE(guard.interrupted());
  EXPECT_EQ(guard.signal(), SIGTERM);
}

TEST(InterruptGuard, ANewGuardStartsWithoutASignal) {
  {
    InterruptGuard guard;
    std::raise(SIGINT);
  }
  InterruptGuard guard;
  EXPECT_FALSE(guard.interrupted());
}

TEST(InterruptGuardDeathTest, TheSecondSignalEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "");
}

TEST(InterruptGuard, MayCountFurtherRequests) {
  InterruptGuard guard(/*notice=*/nullptr, /*polled=*/2);
  EXPECT_EQ(guard.requests(), 0);
  std::raise(SIGINT);
  EXPECT_EQ(guard.requests(), 1);
  std::raise(SIGTERM);
  EXPECT_EQ(guard.requests(), 2);
}

TEST(InterruptGuardDeathTest, ARequestBeyondThoseThatAreCountedEndsTheProcess) {
  EXPECT_EXIT(
      {
        InterruptGuard guard(/*notice=*/nullptr, /*polled=*/2);
        for (int i = 0; i < 3; ++i) std::raise(SIGTERM);
      },
      ::testing::ExitedWithCode(143), "");
}

TEST(InterruptGuard, AHangUpIsARequestHoweverOftenItComes) {
  InterruptGuard guard;
  std::raise(SIGHUP);
  std::raise(SIGHUP);
  EXPECT_EQ(guard.signal(), SIGHUP);
  std::raise(SIGTERM);  // the first that is not a hang-up: a request still
  EXPECT_EQ(guard.signal(), SIGTERM);
  std::raise(SIGHUP);
  EXPECT_EQ(guard.signal(), SIGTERM);
}

TEST(InterruptGuard, AHangUpThatIsIgnoredStaysIgnored) {
  const auto previous = std::signal(SIGHUP, SIG_IGN);
  {
    InterruptGuard guard;
    std::raise(SIGHUP);
    EXPECT_FALSE(guard.interrupted());
  }
  EXPECT_EQ(std::signal(SIGHUP, previous), SIG_IGN);
}

TEST(InterruptGuard, WritingWhereNobodyReadsFailsAndEndsNothing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  {
    InterruptGuard guard;
    EXPECT_EQ(write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    EXPECT_FALSE(guard.interrupted());
  }
  close(ends[1]);
}

TEST(InterruptGuardDeathTest, AfterAHangUpTwoRequestsEndTheProcess) {
  EXPECT_EXIT(
      {
        InterruptGuard guard;
        for (const int signal : {SIGHUP, SIGTERM, SIGTERM}) std::raise(signal);
      },
      ::testing::ExitedWithCode(143), "");
}

TEST(InterruptGuardDeathTest, TheFirstSignalWritesTheNoticeOnce) {
  EXPECT_EXIT(
      {
        InterruptGuard guard("will leave\n");
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "^will leave\n$");
}

TEST(InterruptGuardDeathTest, WithoutAGuardSignalsActAsBefore) {
  EXPECT_EXIT(
      {
        { InterruptGuard guard; }
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace tessera
