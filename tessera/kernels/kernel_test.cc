#include "tessera/kernels/kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "tessera/pjrt/testing.h"

namespace tessera {
namespace {

/// The environment variable with another value, or none, while this lives.
class OtherVariable {
 public:
  explicit OtherVariable(const char* value) {
    if (const char* old = std::getenv(kName)) old_ = old;
    value == nullptr ? unsetenv(kName) : setenv(kName, value, 1);
  }
  ~OtherVariable() { old_ ? setenv(kName, old_->c_str(), 1) : unsetenv(kName); }

 private:
  static constexpr char kName[] = "TESSERA_KERNELS";
  std::optional<std::string> old_;
};

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
  const OtherVariable variable(nullptr);
  EXPECT_TRUE(check_kernels("auto").ok());
  EXPECT_TRUE(check_kernels("off").ok());
  const Status status = check_kernels("matmull");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("did you mean 'matmul'?"), absl::string_view::npos) << status;
  EXPECT_FALSE(check_kernels("matmul,").ok());
  EXPECT_FALSE(check_kernels("").ok());
}

TEST(KernelSetting, TheEnvironmentSaysWhatAutoIs) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const auto client = pjrt::testing::test_client();
  ASSERT_TRUE(client.ok()) << client.status();
  for (const char* off : {"off", "auto", "matmul"}) {
    const OtherVariable variable(off);
    const auto automatic = choose_kernels("auto", **client),
               named = choose_kernels("swiglu", **client);
    ASSERT_TRUE(automatic.ok() && named.ok());
    EXPECT_EQ(automatic->has("matmul"), std::string_view(off) != "off");
    EXPECT_EQ(automatic->has("swiglu"), std::string_view(off) == "auto");
    EXPECT_TRUE(named->has("swiglu"));
  }
  const OtherVariable variable("matmull");
  const Status status = check_kernels("auto");
  EXPECT_NE(status.message().find("TESSERA_KERNELS"), absl::string_view::npos) << status;
  EXPECT_TRUE(check_kernels("off").ok());
}

TEST(KernelSetting, ChoosesWhatAppliesAndSharesTheCores) {
  TESSERA_SKIP_WITHOUT_PLUGIN();
  const OtherVariable variable(nullptr);
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

}  // namespace
}  // namespace tessera
