#include "tessera/train/run_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tessera/base/testing.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RunLock, IsHeldByOneUntilThatOneIsGone) {
  const TempFolder temp;
  const std::string& folder = temp.path();
  {
    const auto first = RunLock::take(folder);
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = RunLock::take(folder);
    EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(second.status().message()),
                AllOf(HasSubstr(folder), HasSubstr(std::to_string(getpid()))));
  }
  EXPECT_TRUE(RunLock::take(folder).ok());
}

TEST(RunLock, NamesTheFileThatCannotBeOpened) {
  const auto lock = RunLock::take("/nowhere/at/all");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("/nowhere/at/all/run.lock"));
}

}  // namespace
}  // namespace tessera
