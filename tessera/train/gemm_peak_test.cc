#include "tessera/train/gemm_peak.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/testing.h"
#include "tessera/runtime/testing.h"

namespace tessera {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(GemmPeakCache, FindsWhatItKeptForAWeek) {
  const TempFolder folder;
  const GemmPeakCache cache(folder.disk(), folder / "new/peaks");
  EXPECT_FALSE(cache.find("a", kNow).has_value());
  cache.keep("a", {2e12, kNow});
  cache.keep("b", {3e12, kNow});
  ASSERT_TRUE(cache.find("a", kNow).has_value());
  EXPECT_EQ(cache.find("a", kNow)->flops_per_device, 2e12);
  EXPECT_EQ(cache.find("b", kNow + absl::Hours(24 * 7))->measured, kNow);
  EXPECT_FALSE(cache.find("a", kNow + absl::Hours(24 * 7 + 1)).has_value());
  EXPECT_FALSE(cache.find("a", kNow - absl::Hours(1)).has_value()) << "measured in the future";
  EXPECT_FALSE(cache.find("c", kNow).has_value());
}

TEST(GemmPeakCache, TakesNoFileThatIsNotItsOwn) {
  const TempFolder folder;
  const GemmPeakCache cache(folder.disk(), folder.path());
  cache.keep("a", {2e12, kNow});
  const std::string name = (*folder.disk().list(folder.path()))[0].name;
  const std::string good = folder.read(name);
  for (const std::string& bad :
       {std::string("not JSON"), std::string("[]"), std::string("{\"key\": \"a\"}"),
        good.substr(0, good.size() / 2),
        std::string(R"({"key": "b", "flops_per_device": 1, "measured_unix_s": 1700000000})"),
        std::string(R"({"key": "a", "flops_per_device": -1, "measured_unix_s": 1700000000})"),
        std::string(R"({"key": "a", "flops_per_device": "1", "measured_unix_s": 1700000000})")}) {
    folder.write(name, bad);
    EXPECT_FALSE(cache.find("a", kNow).has_value()) << bad;
  }
  folder.write(name, good);
  EXPECT_TRUE(cache.find("a", kNow).has_value());
}

TEST(GemmPeakCache, WithoutAFolderKeepsNothing) {
  const TempFolder folder;
  const GemmPeakCache none(folder.disk(), "");
  none.keep("a", {2e12, kNow});
  EXPECT_FALSE(none.find("a", kNow).has_value());
  folder.write("file", "");
  GemmPeakCache(folder.disk(), folder / "file/below").keep("a", {2e12, kNow});  // and does not fail
}

TEST(GemmPeak, CountsForAnIdleMachineOnly) {
  Machine machine;
  machine.cores = 8;
  EXPECT_FALSE(is_idle(machine)) << "nothing is known of its load";
  machine.load = 1.5;
  EXPECT_TRUE(is_idle(machine));
  machine.load = 3;
  EXPECT_FALSE(is_idle(machine));
}

TEST(GemmPeak, IsTakenFromTheCacheForTheSameMachinePluginAndDtype) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto client = pjrt::testing::test_client();
  ASSERT_TRUE(client.ok()) << client.status();
  const TempFolder folder;
  const FakeClock clock(kNow);
  const GemmPeakCache cache(folder.disk(), folder.path());
  Machine machine = probe_machine();
  const std::string key = gemm_peak_key(**client, machine, ComputeType::kF32);
  EXPECT_NE(key, gemm_peak_key(**client, machine, ComputeType::kBf16));
  cache.keep(key, {12345, kNow});
  const auto peak = gemm_peak(**client, clock, cache, {.dtype = ComputeType::kF32, .size = 64});
  ASSERT_TRUE(peak.ok()) << peak.status();
  EXPECT_EQ(peak->flops_per_device, 12345);
  machine.cpu_model += " II";
  EXPECT_NE(key, gemm_peak_key(**client, machine, ComputeType::kF32));
}

/// A millisecond passes whenever it is looked at.
class TickingClock final : public Clock {
 public:
  absl::Time now() const override { return clock_.now(); }
  absl::Duration elapsed() const override {
    clock_.advance(absl::Milliseconds(1));
    return clock_.elapsed();
  }
  void sleep(absl::Duration duration) override { clock_.advance(duration); }

 private:
  mutable FakeClock clock_{kNow};
};

// Which a run that goes on after a failure finds, since it kept the machine busy itself.
TEST(GemmPeak, OfABusyMachineCountsForAnHourWhileItIsBusy) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto client = pjrt::testing::test_client();
  ASSERT_TRUE(client.ok()) << client.status();
  const TempFolder folder;
  TickingClock clock;
  const GemmPeakCache cache(folder.disk(), folder.path());
  Machine machine = probe_machine();
  const auto measured = [&](double load) {
    machine.load = load * machine.cores;
    const auto peak =
        gemm_peak(**client, clock, cache,
                  {.dtype = ComputeType::kF32, .size = 64, .least_time = {}, .machine = machine});
    EXPECT_TRUE(peak.ok()) << peak.status();
    return absl::ToUnixSeconds(peak->measured);
  };
  const int64_t first = measured(2);
  clock.sleep(absl::Minutes(40));
  EXPECT_EQ(measured(1), first) << "is found again";
  clock.sleep(absl::Minutes(40));
  EXPECT_GT(measured(1), first) << "is too old";
  const int64_t idle = measured(0.1);
  clock.sleep(absl::Minutes(10));
  EXPECT_EQ(measured(2), idle) << "an idle machine's own is better";
  clock.sleep(absl::Hours(24));
  EXPECT_EQ(measured(2), idle);
}

}  // namespace
}  // namespace tessera
