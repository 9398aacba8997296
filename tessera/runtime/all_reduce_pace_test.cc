#include "tessera/runtime/all_reduce_pace.h"

#include <gtest/gtest.h>

#include "tessera/runtime/runtime_fixture.h"

namespace tessera {
namespace {

class AllReducePaceTest : public testing::RuntimeTest {};

TEST_F(AllReducePaceTest, SumsOverAllDevicesAndTellsTheTime) {
  const RealClock clock;
  const auto pace = measure_all_reduce(*runtime_, 1 << 16, 3, clock);
  ASSERT_TRUE(pace.ok()) << pace.status();
  EXPECT_EQ(pace->devices, static_cast<int64_t>(runtime_->client().devices().size()));
  EXPECT_EQ(pace->bytes, 1 << 16);
  EXPECT_GT(pace->seconds, 0);
  EXPECT_EQ(runtime_->metrics().dispatches, 4);
}

TEST(AllReducePace, TheSpeedIsThatOfOneConnection) {
  const AllReducePace pace{.devices = 4, .bytes = 1000, .seconds = 0.5};
  EXPECT_EQ(pace.bus_bytes_per_second(), 2 * 0.75 * 1000 / 0.5);
}

}  // namespace
}  // namespace tessera
