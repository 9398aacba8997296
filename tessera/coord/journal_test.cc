#include "tessera/coord/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {
namespace {

using testing::HasSubstr;

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    folder_ = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    CHECK(mkdtemp(folder_.data()) != nullptr);
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  std::string file() const { return join_path(folder_, "journal"); }
  std::string text() { return *files_.read_file(file()); }
  void overwrite(const std::string& text) {
    ASSERT_TRUE(files_.write_file_atomic(file(), text).ok());
  }
  static wire::Batch put(const std::string& key, const std::string& value) {
    wire::Batch batch;
    batch.add_records()->mutable_put()->set_key(key);
    batch.mutable_records(0)->mutable_put()->set_value(value);
    return batch;
  }
  static std::string keys(const std::vector<wire::Batch>& batches) {
    std::string keys;
    for (const wire::Batch& batch : batches) {
      for (const wire::Record& record : batch.records()) keys += record.put().key();
    }
    return keys;
  }
  // What a coordinator that starts now would find.
  Result<std::string> found() {
    ASSIGN_OR_RETURN(const auto journal, Journal::open(files_, folder_));
    return keys(journal->take_stored());
  }
  // "a", then "b", then "c", each appended.
  void write_three() {
    const auto journal = *Journal::open(files_, folder_);
    ASSERT_TRUE(journal->rewrite(put("a", "1")).ok());
    ASSERT_TRUE(journal->append(put("b", "2")).ok());
    ASSERT_TRUE(journal->append(put("c", "3")).ok());
  }

  PosixFileSystem files_;
  std::string folder_;
};

TEST_F(JournalTest, GivesBackWhatWasStored) {
  EXPECT_EQ(*found(), "");
  write_three();
  EXPECT_EQ(*found(), "abc");
  {
    const auto journal = *Journal::open(files_, folder_);
    ASSERT_TRUE(journal->rewrite(put("all", "")).ok());
    ASSERT_TRUE(journal->append(put("d", "")).ok());
  }
  EXPECT_EQ(*found(), "alld");
}

TEST_F(JournalTest, ForgetsATornEndOfAnyLength) {
  write_three();
  const std::string whole = text();
  const size_t last = 12 + put("c", "3").ByteSizeLong();
  for (size_t cut = 1; cut <= last; ++cut) {
    overwrite(whole.substr(0, whole.size() - cut));
    const auto journal = *Journal::open(files_, folder_);
    EXPECT_EQ(keys(journal->take_stored()), "ab") << cut;
    EXPECT_EQ(journal->dropped_bytes(), static_cast<int64_t>(last - cut));
  }
  // A disk may have made room and not written it.
  overwrite(whole.substr(0, whole.size() - last) + std::string(last, '\0'));
  EXPECT_EQ(*found(), "ab");
}

TEST_F(JournalTest, FindsEveryFlippedBitBeforeTheEnd) {
  write_three();
  const std::string whole = text();
  const size_t last = whole.size() - 12 - put("c", "3").ByteSizeLong();
  for (size_t byte = 0; byte < last; ++byte) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1 << byte % 8);
    overwrite(damaged);
    const Result<std::string> keys = found();
    ASSERT_FALSE(keys.ok()) << byte;
    EXPECT_EQ(keys.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(from_absl(keys.status().message())), HasSubstr(file()));
  }
}

TEST_F(JournalTest, IsOpenInOneProcessOnly) {
  const auto journal = *Journal::open(files_, folder_);
  const auto second = Journal::open(files_, folder_);
  EXPECT_THAT(std::string(from_absl(second.status().message())),
              HasSubstr("another coordinator has " + folder_));
}

// A coordinator that is killed at any point, and its machine with it, comes back with all it said.
TEST_F(JournalTest, LosesNothingThatWasAcknowledgedWhereverItCrashes) {
  for (int64_t crash = 0;; ++crash) {
    std::filesystem::remove_all(folder_);
    FaultyFileSystem faulty(files_);
    std::string acknowledged;
    const auto work = [&]() -> Status {
      faulty.crash_at(crash);
      for (const char* name : {"a", "b"}) {
        ASSIGN_OR_RETURN(const auto journal, Journal::open(faulty, folder_));
        // As a coordinator begins: what was stored, in one batch.
        wire::Batch all;
        for (const wire::Batch& batch : journal->take_stored()) all.MergeFrom(batch);
        RETURN_IF_ERROR(journal->rewrite(all));
        for (int i = 0; i < 3; ++i) {
          const std::string key = str_cat(name, i);
          RETURN_IF_ERROR(journal->append(put(key, "")));
          acknowledged += key;
        }
      }
      return absl::OkStatus();
    };
    const Status status = work();
    faulty.heal();
    ASSERT_TRUE(faulty.lose_unsynced().ok());
    const Result<std::string> keys = found();
    ASSERT_TRUE(keys.ok()) << "crash at " << crash << ": " << keys.status();
    EXPECT_TRUE(keys->starts_with(acknowledged)) << "crash at " << crash << ": " << *keys;
    if (status.ok()) {
      EXPECT_GT(crash, 15);
      return;
    }
  }
}

TEST_F(JournalTest, TakesNothingAfterAnError) {
  FaultyFileSystem faulty(files_);
  const auto journal = *Journal::open(faulty, folder_);
  ASSERT_TRUE(journal->rewrite(put("a", "")).ok());
  faulty.limit_bytes(5);
  const Status full = journal->append(put("b", ""));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  faulty.heal();
  EXPECT_EQ(journal->append(put("c", "")), full);
}

// docs/format_coordinator_journal.md shows these bytes.
TEST_F(JournalTest, HasTheBytesOfItsFormat) {
  const auto journal = *Journal::open(files_, folder_);
  ASSERT_TRUE(journal->rewrite(put("a", "1")).ok());
  const std::string payload =
      "\x0a\x08\x2a\x06\x0a\x01"
      "a\x12\x01"
      "1";
  const std::string header("\x0a\x00\x00\x00\xa0\x0b\x44\x01\xe3\x24\x2b\xea", 12);
  EXPECT_EQ(text(), "tessera coordinator journal 1\n" + header + payload)
      << testing::PrintToString(text());
}

}  // namespace
}  // namespace tessera::coord
