#include "tessera/base/filesystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/base/testing.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class FileSystemTest : public ::testing::Test {
 protected:
  std::string path(std::string_view name) const { return join_path(root_, name); }
  Status write(FileSystem& system, std::string_view name, std::string_view text) {
    return system.write_file(path(name), {std::as_bytes(std::span(text))});
  }

  TempFolder folder_;
  PosixFileSystem disk_;
  FaultyFileSystem faulty_{disk_};
  const std::string root_ = folder_.path();
};

TEST_F(FileSystemTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write(disk_, "a", "hello world").ok());
  EXPECT_EQ(*disk_.read_file(path("a")), "hello world");
  EXPECT_EQ(*disk_.file_size(path("a")), 11);
  std::string middle(5, ' ');
  ASSERT_TRUE(disk_.read_range(path("a"), 3, std::as_writable_bytes(std::span(middle))).ok());
  EXPECT_EQ(middle, "lo wo");
  const Status past = disk_.read_range(path("a"), 9, std::as_writable_bytes(std::span(middle)));
  EXPECT_EQ(past.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(past.message()), HasSubstr(path("a")));
}

TEST_F(FileSystemTest, AppendsAfterTheEnd) {
  ASSERT_TRUE(write(disk_, "log", "one ").ok());
  auto file = disk_.append_file(path("log"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->append("two").ok());
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ(*disk_.read_file(path("log")), "one two");
}

TEST_F(FileSystemTest, ListsSortedAndRemovesTrees) {
  ASSERT_TRUE(disk_.create_dirs(path("t/deep/er")).ok());
  ASSERT_TRUE(write(disk_, "t/z", "12").ok());
  ASSERT_TRUE(write(disk_, "t/deep/er/x", "").ok());
  const auto entries = disk_.list(path("t"));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "deep");
  EXPECT_TRUE((*entries)[0].is_directory);
  EXPECT_EQ((*entries)[1].name, "z");
  EXPECT_EQ((*entries)[1].size_bytes, 2);
  EXPECT_TRUE(disk_.remove_tree(path("t")).ok());
  EXPECT_FALSE(disk_.exists(path("t")));
  EXPECT_TRUE(disk_.remove_tree(path("t")).ok()) << "nothing there is nothing to do";
}

TEST_F(FileSystemTest, SaysWhatIsMissingOrInTheWay) {
  EXPECT_TRUE(absl::IsNotFound(disk_.read_file(path("none")).status()));
  EXPECT_THAT(std::string(disk_.read_file(path("none")).status().message()),
              HasSubstr(path("none")));
  ASSERT_TRUE(write(disk_, "file", "x").ok());
  EXPECT_FALSE(disk_.create_dirs(path("file/below")).ok());
  EXPECT_EQ(disk_.read_file(root_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_GT(*disk_.free_bytes(root_), 0);
}

TEST_F(FileSystemTest, SplitsAndJoinsPaths) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(parent_path("a/b/c"), "a/b");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(parent_path("a/b/"), "a");
  EXPECT_EQ(base_name("a/b/"), "b");
}

TEST_F(FileSystemTest, AtomicWriteShowsOldOrNewAtEveryCrash) {
  const std::string old_text(1000, 'o'), new_text(3000, 'n');
  int crashes = 0;
  for (int64_t index = 0;; ++index) {
    ASSERT_TRUE(write(disk_, "f", old_text).ok());
    FaultyFileSystem faulty(disk_);
    faulty.crash_at(index);
    const Status status = faulty.write_file_atomic(path("f"), new_text);
    ASSERT_TRUE(faulty.lose_unsynced().ok());
    const std::string text = *disk_.read_file(path("f"));
    if (!faulty.crashed()) {
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(text, new_text);
      break;
    }
    ++crashes;
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(text == old_text || text == new_text) << "operation " << index;
  }
  EXPECT_EQ(crashes, 6);  // create, append, sync, close, rename, sync_dir
}

TEST_F(FileSystemTest, FaultsStrikeWhereTheyAreTold) {
  faulty_.fail_operation(1, absl::InternalError("made up"));
  EXPECT_EQ(write(faulty_, "a", "text").message(), "made up");
  EXPECT_TRUE(write(faulty_, "a", "text").ok());
  EXPECT_EQ(faulty_.operations(), 6);

  faulty_.limit_bytes(10);
  EXPECT_TRUE(write(faulty_, "b", "12345678").ok());
  const Status full = write(faulty_, "c", "12345678");
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_THAT(std::string(full.message()), HasSubstr("6 bytes to write"));
  EXPECT_EQ(*disk_.read_file(path("c")), "12");
}

TEST_F(FileSystemTest, PowerLossTakesWhatWasNotSynced) {
  ASSERT_TRUE(faulty_.create_dir(path("d")).ok());
  ASSERT_TRUE(faulty_.sync_dir(root_).ok());
  ASSERT_TRUE(write(faulty_, "d/kept", "kept").ok());
  ASSERT_TRUE(faulty_.sync_dir(path("d")).ok());
  ASSERT_TRUE(write(faulty_, "d/unnamed", "its directory was not synced").ok());
  auto file = faulty_.append_file(path("d/kept"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->append(" and lost").ok());
  ASSERT_TRUE((*file)->close().ok());
  ASSERT_TRUE(faulty_.rename(path("d"), path("e")).ok());

  ASSERT_TRUE(faulty_.lose_unsynced().ok());
  EXPECT_FALSE(disk_.exists(path("e"))) << "the rename was not synced";
  EXPECT_EQ(*disk_.read_file(path("d/kept")), "kept");
  EXPECT_FALSE(disk_.exists(path("d/unnamed")));
}

TEST_F(FileSystemTest, APipeIsNoFileAndIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Status status = disk_.read_file(path("pipe")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path("pipe")), HasSubstr("a pipe")));
}

}  // namespace
}  // namespace tessera
