#include "tessera/train/local_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/testing.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LocalTierTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<LocalTier>> open(const std::string& directory) {
    return LocalTier::open({.directory = directory}, "0123456789abcdef", files_, clock_, alone_,
                           {});
  }
  std::string error(const std::string& directory) {
    return std::string(open(directory).status().message());
  }

  TempFolder temp_;
  PosixFileSystem files_;
  RealClock clock_;
  Peers alone_;
};

TEST_F(LocalTierTest, AFolderThatCannotBeIsNamedByItsKey) {
  EXPECT_THAT(error(temp_.write("file", "")),
              AllOf(HasSubstr("checkpoint.local.directory"), HasSubstr("is a file")));
  EXPECT_THAT(error("/proc/near"),
              AllOf(HasSubstr("checkpoint.local.directory"), HasSubstr("/proc/near")));
}

// As a copy of a run's output directory has it.
TEST_F(LocalTierTest, TwoRunsOfOneNameDoNotRemoveEachOthersSaves) {
  {
    const auto first = open(temp_ / "near");
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_THAT(error(temp_ / "near"), AllOf(HasSubstr("checkpoint.local.directory"),
                                             HasSubstr("process_0 is in use: process ")));
  }
  EXPECT_TRUE(open(temp_ / "near").ok());
}

}  // namespace
}  // namespace tessera
