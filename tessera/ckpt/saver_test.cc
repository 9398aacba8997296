#include "tessera/ckpt/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "tessera/ckpt/sample_state.h"
#include "tessera/ckpt/testing.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SaverTest : public ScratchTest {
 protected:
  FakeClock clock_;
};

TEST_F(SaverTest, SavesInTheBackgroundAndReports) {
  const CheckpointManager manager(disk_, root_, {.keep_last = 2});
  CheckpointSaver saver(manager, clock_);
  EXPECT_TRUE(saver.idle());
  EXPECT_EQ(saver.wait(), std::nullopt);
  std::vector<std::shared_future<SaveResult>> results;
  for (int64_t step = 1; step <= 4; ++step) {
    results.push_back(saver.save(sample::request(step, sample::specs())));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const SaveResult& result = results[i].get();
    EXPECT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.step, static_cast<int64_t>(i) + 1);
    EXPECT_GT(result.bytes, 0);
  }
  EXPECT_THAT(results[3].get().pruned, ElementsAre(2));
  EXPECT_TRUE(saver.wait()->status.ok());
  EXPECT_TRUE(saver.idle());
  EXPECT_THAT(*manager.list(), ElementsAre(3, 4));
  EXPECT_EQ(manager.latest()->step, 4);
}

TEST_F(SaverTest, ASecondSaveWaitsForTheFirst) {
  const CheckpointManager manager(disk_, root_);
  std::latch may_commit(1);
  int commits = 0;
  CheckpointSaver saver(manager, clock_, {.before_commit = [&](CheckpointWriter&) {
                          may_commit.wait();
                          ++commits;
                          return absl::OkStatus();
                        }});
  const auto first = saver.save(sample::request(1, sample::few_specs()));
  EXPECT_FALSE(saver.idle());
  Thread opener("opener", [&] {
    clock_.advance(absl::Seconds(3));
    may_commit.count_down();
  });
  const auto second = saver.save(sample::request(2, sample::few_specs()));
  EXPECT_EQ(first.wait_for(std::chrono::seconds(0)), std::future_status::ready)
      << "when save() returns, the one before is over";
  EXPECT_TRUE(second.get().status.ok());
  EXPECT_EQ(commits, 2);
}

TEST_F(SaverTest, ShardsAreGivenBackBeforeTheResult) {
  const CheckpointManager manager(disk_, root_);
  CheckpointSaver saver(manager, clock_);
  SaveRequest request = sample::request(1, sample::few_specs());
  const std::weak_ptr<const void> shard = request.shards.front().owner;
  saver.save(std::move(request)).wait();
  EXPECT_TRUE(shard.expired());
}

TEST_F(SaverTest, AFullDiskFailsTheSaveWithPathAndBytesAndKeepsTheOlder) {
  const CheckpointManager manager(disk_, root_);
  CheckpointSaver saver(manager, clock_, {.threads = 2});
  ASSERT_TRUE(saver.save(sample::request(1, sample::few_specs())).get().status.ok());

  disk_.limit_bytes(100);  // seen before anything is written
  Status status = saver.save(sample::request(2, sample::few_specs())).get().status;
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(root_ + ": a checkpoint needs"), HasSubstr("100 are free")));
  EXPECT_FALSE(posix_.exists(join_path(root_, "2.tmp")));

  disk_.heal();
  EXPECT_TRUE(saver.save(sample::request(2, sample::few_specs())).get().status.ok());
  EXPECT_EQ(manager.latest()->step, 2);
}

TEST_F(SaverTest, ADiskThatFillsUpWhileSavingLeavesNothingOfTheSave) {
  const CheckpointManager manager(disk_, root_);
  CheckpointSaver saver(manager, clock_, {.threads = 2});
  ASSERT_TRUE(saver.save(sample::request(1, sample::few_specs())).get().status.ok());
  for (const int64_t limit : {0, 10, 100, 1000, 2000}) {
    disk_.limit_bytes(limit, /*seen=*/false);  // as when another program fills the disk
    const Status status = saver.save(sample::request(2, sample::few_specs())).get().status;
    ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("checkpoint step 2, 256 bytes: " + root_ + "/2.tmp/"),
                      HasSubstr("No space left on device"), HasSubstr("bytes to write"),
                      HasSubstr("saved before are untouched")));
    EXPECT_FALSE(posix_.exists(join_path(root_, "2.tmp")));
    disk_.heal();
    EXPECT_EQ(manager.latest()->step, 1);
  }
}

TEST_F(SaverTest, AFailureBeforeTheCommitLeavesNothing) {
  const CheckpointManager manager(disk_, root_);
  CheckpointSaver saver(manager, clock_, {.before_commit = [](CheckpointWriter&) {
                          return absl::UnavailableError("process 3 is gone");
                        }});
  const SaveResult result = saver.save(sample::request(1, sample::few_specs())).get();
  EXPECT_EQ(result.status.message(), "process 3 is gone");
  EXPECT_EQ(manager.latest()->step, std::nullopt);
  EXPECT_FALSE(posix_.exists(join_path(root_, "1.tmp")));
}

}  // namespace
}  // namespace tessera
