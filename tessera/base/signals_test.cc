#include "tessera/base/signals.h"

#include <gtest/gtest.h>

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
