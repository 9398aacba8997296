#include "tessera/kernels/kernel.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "tessera/kernels/workers.h"
#include "tessera/pjrt/testing.h"

namespace tessera {
namespace {

TEST(KernelTable, NamesAreDistinctAndEveryEntrySaysWhatItDoes) {
  std::set<std::string_view> names, targets;
  for (const Kernel& kernel : all_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name).second) << kernel.name;
    EXPECT_FALSE(kernel.replaces.empty());
    EXPECT_FALSE(kernel.takes.empty());
    EXPECT_FALSE(kernel.handlers.empty());
    for (const KernelHandler& handler : kernel.handlers) {
      EXPECT_TRUE(targets.insert(handler.target).second) << handler.target;
      EXPECT_NE(handler.handler, nullptr);
    }
    EXPECT_TRUE(check_kernels(kernel.name).ok());
  }
}

TEST(KernelSetting, NamesTheNearestKernelOfAWrongName) {
  EXPECT_TRUE(check_kernels("auto").ok());
  EXPECT_TRUE(check_kernels("off").ok());
  const Status status = check_kernels("matmull");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("did you mean 'matmul'?"), absl::string_view::npos) << status;
  EXPECT_FALSE(check_kernels("matmul,").ok());
  EXPECT_FALSE(check_kernels("").ok());
}

TEST(KernelSetting, ChoosesWhatAppliesAndSharesTheCores) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto plugin = pjrt::Plugin::load("cpu");
  ASSERT_TRUE(plugin.ok()) << plugin.status();
  const auto client = pjrt::Client::create(*plugin);
  ASSERT_TRUE(client.ok()) << client.status();
  const auto off = choose_kernels("off", *client), all = choose_kernels("auto", *client),
             one = choose_kernels("matmul", *client),
             again = choose_kernels("matmul", *client, 1000);
  ASSERT_TRUE(off.ok() && all.ok() && one.ok() && again.ok()) << all.status() << one.status();
  EXPECT_TRUE(off->kernels.empty());
  EXPECT_TRUE(all->has("matmul"));
  EXPECT_TRUE(one->has("matmul"));
  EXPECT_EQ(one->kernels.size(), 1u);
  EXPECT_GE(one->threads, 1);
  EXPECT_EQ(again->threads, 1);
}

TEST(Workers, RunEveryTaskOnceAndPassOnWhatOneThrows) {
  for (int threads : {1, 2, 5}) {
    for (int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> runs(count);
      kernels::run_parallel(threads, count, [&](int64_t i) { ++runs[i]; });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
    }
    EXPECT_THROW(kernels::run_parallel(threads, 9,
                                       [](int64_t i) {
                                         if (i == 5) throw std::runtime_error("five");
                                       }),
                 std::runtime_error);
  }
}

}  // namespace
}  // namespace tessera
