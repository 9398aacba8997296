#include "tessera/base/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "tessera/base/testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

TEST(FolderLock, IsHeldByOneUntilThatOneIsGone) {
  const TempFolder temp;
  EXPECT_EQ(FolderLock::is_held(temp.path(), "lock"), std::nullopt);
  {
    const auto first = FolderLock::take(temp.path(), "lock");
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(FolderLock::is_held(temp.path(), "lock"), true);
    const auto second = FolderLock::take(temp.path(), "lock");
    EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(std::string(second.status().message()), str_cat("process ", getpid()));
  }
  EXPECT_EQ(FolderLock::is_held(temp.path(), "lock"), false);
  EXPECT_TRUE(FolderLock::take(temp.path(), "lock").ok());
}

TEST(FolderLock, NamesTheFileThatCannotBeOpened) {
  const auto lock = FolderLock::take("/nowhere/at/all", "lock");
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(lock.status().message()), HasSubstr("/nowhere/at/all/lock"));
}

}  // namespace
}  // namespace tessera
