#include "tessera/ckpt/saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <limits>

#include "tessera/ckpt/finite.h"
#include "tessera/ckpt/sample_state.h"
#include "tessera/ckpt/save_group_testing.h"
#include "tessera/ckpt/staging_pool.h"
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

// Saves one state from three processes, each every third shard; how that went for each of them.
// `spoil` may make one's save fail before the commit.
std::vector<SaveResult> save_from_three(const CheckpointManager& manager, const Clock& clock,
                                        const std::function<Status(int process)>& spoil) {
  Room room(3);
  std::vector<SaveResult> results(3);
  std::vector<Thread> processes;
  for (int process = 0; process < 3; ++process) {
    processes.emplace_back("process", [&, process] {
      SaveRequest request = share_of(sample::request(5, sample::few_specs()), process, 3);
      RoomGroup group(room, process);
      CheckpointSaver saver(
          manager, clock, {.threads = 2, .group = &group, .before_commit = [&](CheckpointWriter&) {
                             return spoil(process);
                           }});
      results[process] = saver.save(std::move(request)).get();
    });
  }
  processes.clear();  // joins
  return results;
}

TEST_F(SaverTest, SeveralProcessesSaveOneCheckpoint) {
  const CheckpointManager manager(disk_, root_);
  const auto results = save_from_three(manager, clock_, [](int) { return absl::OkStatus(); });
  for (const SaveResult& result : results) EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_TRUE(manager.check(5, CheckDepth::kContents).ok());
}

TEST_F(SaverTest, WhatFailsOnOneProcessIsSavedByNone) {
  const CheckpointManager manager(disk_, root_);
  for (int spoiler = 0; spoiler < 3; ++spoiler) {
    const auto results = save_from_three(manager, clock_, [&](int process) -> Status {
      return process == spoiler ? data_loss("the disk went away") : absl::OkStatus();
    });
    for (const SaveResult& result : results)
      EXPECT_THAT(std::string(result.status.message()), HasSubstr("the disk went away"));
    EXPECT_THAT(*manager.list(), ElementsAre());
    EXPECT_THAT(*manager.clean(), ElementsAre()) << "a folder was left";
  }
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

TEST_F(SaverTest, AStateThatIsNotFiniteIsNeverCommitted) {
  const CheckpointManager manager(disk_, root_);
  CheckpointSaver saver(manager, clock_, {.refuse_not_finite = true});
  const double infinity = std::numeric_limits<double>::infinity();
  int64_t step = 0;
  for (const DType dtype : all_dtypes()) {
    if (!is_floating(dtype)) continue;
    for (const double value : {1.0, infinity, -infinity, std::nan("")}) {
      if (dtype == DType::kF8E4M3FN && std::isinf(value)) continue;  // it has none
      const ArraySpec spec{"params.w", {dtype, {40, 50}}, {20, 50}, {}, {}};
      std::vector<double> values(2000, -2.0);
      values[1999] = value;
      const HostArray whole = from_doubles(spec.shape, values);
      SaveRequest request{.step = ++step, .arrays = {spec}, .shards = {}, .manifest = {}};
      for (const int64_t row : {0, 20}) {
        const Box box{{row, 0}, {20, 50}};
        const auto part = std::make_shared<HostArray>(slice(whole, box));
        request.shards.push_back({spec.name, box, std::as_const(*part).bytes(), part});
      }
      const Status status = saver.save(std::move(request)).get().status;
      EXPECT_EQ(status.ok(), value == 1.0) << dtype_name(dtype) << " " << value;
      if (value == 1.0) continue;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("element [39,49] of params.w is infinite or not a number"));
      EXPECT_FALSE(posix_.exists(join_path(root_, str_cat(step, ".tmp"))));
      EXPECT_FALSE(posix_.exists(join_path(root_, str_cat(step))));
    }
  }
  EXPECT_EQ(manager.list()->size(), 6U);
}

TEST(FirstNotFinite, IsFoundAtEveryPosition) {
  for (const int64_t count : {1, 7, 1023, 1024, 1025, 3000}) {
    std::vector<float> values(static_cast<size_t>(count), std::numeric_limits<float>::max());
    const auto found = [&] {
      return first_not_finite(DType::kF32, std::as_bytes(std::span(values)));
    };
    EXPECT_EQ(found(), std::nullopt);
    for (int64_t at = 0; at < count; at += 13) {
      values[static_cast<size_t>(at)] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(found(), at);
      values[static_cast<size_t>(at)] = -1;
    }
  }
  const std::vector<int32_t> integers(9, -1);
  EXPECT_EQ(first_not_finite(DType::kS32, std::as_bytes(std::span(integers))), std::nullopt);
}

TEST(StagingPool, GivesABlockBackToTheNextOneOfItsSize) {
  StagingPool pool;
  auto first = pool.take(100);
  const std::byte* address = first.get();
  auto second = pool.take(100);
  EXPECT_NE(second.get(), address);
  EXPECT_EQ(pool.reserved_bytes(), 200);
  first.reset();
  EXPECT_EQ(pool.take(100).get(), address);
  EXPECT_EQ(pool.reserved_bytes(), 200);
  EXPECT_EQ(pool.take(50).use_count(), 1);
  EXPECT_EQ(pool.reserved_bytes(), 250);
}

TEST(StagingPool, PinsEachBlockOnceForAsLongAsItIsThere) {
  std::vector<std::span<std::byte>> pinned;
  int unpinned = 0;
  {
    StagingPool pool([&](std::span<std::byte> block) {
      pinned.push_back(block);
      return std::shared_ptr<const void>(&pinned, [&](const void*) { ++unpinned; });
    });
    const std::byte* const address = pool.take(100).get();
    EXPECT_EQ(pool.take(100).get(), address);
    const auto other = pool.take(7);
    ASSERT_EQ(pinned.size(), 2);
    EXPECT_EQ(pinned[0].data(), address);
    EXPECT_EQ(pinned[0].size(), 100);
    EXPECT_EQ(unpinned, 0);
  }
  EXPECT_EQ(unpinned, 2);
}

TEST(StagingPool, IsOutlivedByItsBlocks) {
  auto pool = std::make_unique<StagingPool>();
  const auto block = pool->take(4);
  pool.reset();
  block[3] = std::byte{7};
  EXPECT_EQ(block[3], std::byte{7});
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
