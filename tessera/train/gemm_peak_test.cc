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

}  // namespace
}  // namespace tessera
