// Saving and deleting are cut off at every single operation, with and without a loss of power after
// it. What was committed before must still be the latest, and good, or else the new one must be,
// whole.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/memory_store.h"
#include "tessera/ckpt/testing.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class CrashTest : public ScratchTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override { start_afresh(); }

  void start_afresh() {
    ASSERT_TRUE(disk_.remove_tree(root_).ok());
    ASSERT_TRUE(disk_.create_dir(root_).ok());
  }
  std::string directory() const { return join_path(root_, "checkpoints"); }
  CheckpointManager manager(RetentionPolicy policy = {}) {
    return CheckpointManager(disk_, directory(), policy, 1);
  }
  void save(int64_t step) { save_few(manager(), step); }
  std::optional<int64_t> latest() { return latest_good(manager()); }
  void expect_readable(int64_t step) { expect_few(manager(), step); }
  void lose_power_if_asked(FaultyFileSystem& faulty) {
    if (!GetParam()) return;
    ASSERT_TRUE(faulty.lose_unsynced().ok());
  }
};

TEST_P(CrashTest, SavingCutOffAnywhereLeavesTheOldOrTheNewCheckpoint) {
  int64_t crashes = 0;
  bool crashed = true;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    save(10);
    FaultyFileSystem faulty(posix_);
    faulty.crash_at(operation);
    const CheckpointManager dying(faulty, directory(), {}, 1);
    const Status status = sample::save(dying, sample::request(20, sample::few_specs()));
    crashed = faulty.crashed();
    crashes += crashed;
    EXPECT_EQ(status.ok(), !crashed) << status;
    lose_power_if_asked(faulty);

    const std::optional<int64_t> step = latest();
    ASSERT_TRUE(step == 10 || step == 20) << "operation " << operation;
    if (!crashed) {
      EXPECT_EQ(step, 20);
    }
    expect_readable(*step);
    expect_readable(10);
    ASSERT_TRUE(manager().clean().ok());
    if (step == 10) save(20);
    EXPECT_EQ(latest(), 20) << "the run that follows saves again, after operation " << operation;
  }
  EXPECT_GE(crashes, 50) << "points of a save";
}

TEST_P(CrashTest, DeletingCutOffAnywhereNeverShowsHalfACheckpoint) {
  bool crashed = true;
  int64_t crashes = 0;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    for (const int64_t step : {10, 20, 30}) save(step);
    FaultyFileSystem faulty(posix_);
    faulty.crash_at(operation);
    const auto pruned = CheckpointManager(faulty, directory(), {.keep_last = 1}, 1).prune();
    crashed = faulty.crashed();
    crashes += crashed;
    EXPECT_EQ(pruned.ok(), !crashed) << pruned.status();
    lose_power_if_asked(faulty);

    EXPECT_EQ(latest(), 30);
    const auto steps = manager().list();
    ASSERT_TRUE(steps.ok());
    for (const int64_t step : *steps) {
      const Status good = manager().check(step, CheckDepth::kContents);
      EXPECT_TRUE(good.ok()) << good << " after operation " << operation;
    }
    ASSERT_TRUE(manager().clean().ok());
    ASSERT_TRUE(manager({.keep_last = 1}).prune().ok());
    EXPECT_THAT(*manager().list(), ::testing::ElementsAre(30));
    ASSERT_TRUE(disk_.remove(join_path(directory(), "run.lock")).ok());  // clean() made it
    EXPECT_EQ(disk_.list(directory())->size(), 1U) << "nothing is left lying about";
  }
  EXPECT_GE(crashes, 20) << "points of a deletion";
}

TEST_P(CrashTest, TheVeryFirstSaveCutOffAnywhereLeavesNoneOrOne) {
  bool crashed = true;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    FaultyFileSystem faulty(posix_);
    faulty.crash_at(operation);
    const CheckpointManager dying(faulty, directory(), {}, 1);
    (void)sample::save(dying, sample::request(1, sample::few_specs()));
    crashed = faulty.crashed();
    lose_power_if_asked(faulty);
    const std::optional<int64_t> step = latest();
    if (step) expect_readable(*step);
    if (!crashed) {
      EXPECT_EQ(step, 1);
    }
  }
}

TEST_P(CrashTest, ReplacingADamagedCheckpointCutOffAnywhereKeepsTheGoodOne) {
  bool crashed = true;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    save(10);
    save(20);
    ASSERT_TRUE(disk_.remove(join_path(directory(), "20/state/step/c")).ok());
    FaultyFileSystem faulty(posix_);
    faulty.crash_at(operation);
    const CheckpointManager dying(faulty, directory(), {}, 1);
    (void)sample::save(dying, sample::request(20, sample::few_specs()));
    crashed = faulty.crashed();
    lose_power_if_asked(faulty);
    const std::optional<int64_t> step = latest();
    ASSERT_TRUE(step == 10 || step == 20) << "operation " << operation;
    expect_readable(*step);
    if (!crashed) {
      EXPECT_EQ(step, 20);
    }
  }
}

TEST_P(CrashTest, AnErrorAnywhereFailsTheSaveAndLeavesNoFolder) {
  for (int64_t operation = 0;; ++operation) {
    start_afresh();
    save(10);
    FaultyFileSystem faulty(posix_);
    faulty.fail_operation(operation, absl::InternalError("made up"));
    const CheckpointManager failing(faulty, directory(), {}, 1);
    const Status status = sample::save(failing, sample::request(20, sample::few_specs()));
    if (status.ok()) {
      EXPECT_GE(operation, 50);
      break;
    }
    EXPECT_THAT(std::string(status.message()), HasSubstr("made up"));
    EXPECT_FALSE(disk_.exists(join_path(directory(), "20.tmp"))) << "operation " << operation;
    const std::optional<int64_t> step = latest();
    // The last operation syncs the directory after the rename: the checkpoint is there, but is
    // reported as failed.
    ASSERT_TRUE(step == 10 || step == 20);
    expect_readable(10);
  }
}

/// In an object store, where the manifest is the commit. With answers lost, what a call asked for
/// was done although the call failed.
class StoreCrashTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr const char* kDirectory = "s3://bucket/run/checkpoints";

  CheckpointManager manager(RetentionPolicy policy = {}) { return {store_, kDirectory, policy, 1}; }
  void save(int64_t step) { save_few(manager(), step); }
  std::optional<int64_t> latest() { return latest_good(manager()); }
  std::vector<int64_t> steps() { return *manager().list(); }
  void start_afresh() { ASSERT_TRUE(store_.remove_tree(kDirectory).ok()); }

  MemoryStore store_;
};

TEST_P(StoreCrashTest, SavingCutOffAnywhereLeavesTheOldOrTheNewCheckpoint) {
  bool crashed = true;
  int64_t crashes = 0;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    save(10);
    FaultyFileSystem faulty(store_);
    faulty.lose_answers(GetParam());
    faulty.crash_at(operation);
    const CheckpointManager dying(faulty, kDirectory, {}, 1);
    const Status status = sample::save(dying, sample::request(20, sample::few_specs()));
    crashed = faulty.crashed();
    crashes += crashed;
    EXPECT_EQ(status.ok(), !crashed) << status;

    const std::optional<int64_t> step = latest();
    ASSERT_TRUE(step == 10 || step == 20) << "operation " << operation;
    const std::vector<int64_t> committed = steps();
    EXPECT_EQ(*step == 20, std::ranges::count(committed, 20) == 1);
    EXPECT_TRUE(manager().check(10, CheckDepth::kContents).ok());
    ASSERT_TRUE(manager().clean().ok());
    if (step == 10) {
      EXPECT_FALSE(store_.exists(str_cat(kDirectory, "/20"))) << "after operation " << operation;
      save(20);
    }
    EXPECT_EQ(latest(), 20) << "after operation " << operation;
  }
  EXPECT_GE(crashes, 30) << "points of a save";
}

TEST_P(StoreCrashTest, DeletingCutOffAnywhereNeverShowsHalfACheckpoint) {
  bool crashed = true;
  int64_t crashes = 0;
  for (int64_t operation = 0; crashed; ++operation) {
    start_afresh();
    for (const int64_t step : {10, 20, 30}) save(step);
    FaultyFileSystem faulty(store_);
    faulty.lose_answers(GetParam());
    faulty.crash_at(operation);
    const auto pruned = CheckpointManager(faulty, kDirectory, {.keep_last = 1}, 1).prune();
    crashed = faulty.crashed();
    crashes += crashed;
    EXPECT_EQ(pruned.ok(), !crashed) << pruned.status();

    EXPECT_EQ(latest(), 30);
    for (const int64_t step : steps()) {
      const Status good = manager().check(step, CheckDepth::kContents);
      EXPECT_TRUE(good.ok()) << good << " after operation " << operation;
    }
    ASSERT_TRUE(manager().clean().ok());
    ASSERT_TRUE(manager({.keep_last = 1}).prune().ok());
    EXPECT_THAT(steps(), ::testing::ElementsAre(30));
    EXPECT_EQ(store_.list(kDirectory)->size(), 1U) << "nothing is left lying about";
  }
  EXPECT_GE(crashes, 15) << "points of a deletion";
}

TEST_P(StoreCrashTest, AnErrorAnywhereFailsTheSaveAndLeavesNothing) {
  for (int64_t operation = 0;; ++operation) {
    start_afresh();
    save(10);
    FaultyFileSystem faulty(store_);
    faulty.lose_answers(GetParam());
    faulty.fail_operation(operation, absl::UnavailableError("made up"));
    const CheckpointManager failing(faulty, kDirectory, {}, 1);
    const Status status = sample::save(failing, sample::request(20, sample::few_specs()));
    if (status.ok()) {
      EXPECT_GE(operation, 30);
      break;
    }
    EXPECT_THAT(std::string(status.message()), HasSubstr("made up"));
    EXPECT_FALSE(store_.exists(str_cat(kDirectory, "/20"))) << "operation " << operation;
    EXPECT_EQ(latest(), 10);
  }
}

TEST_P(StoreCrashTest, OfTwoRunsThatSaveOneStepOnlyOneCommits) {
  const SaveRequest request = sample::request(20, sample::few_specs());
  const auto begin = [&] {
    auto writer = CheckpointWriter::begin(store_, kDirectory, 20, request.arrays);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  };
  const auto first = begin();
  const auto second = begin();
  for (const auto* writer : {&first, &second}) {
    for (const HostShard& shard : request.shards)
      ASSERT_TRUE((*writer)->write_shard(shard.array, shard.box, shard.bytes).ok());
  }
  // The second one's begin removed what the first had made; in a run it is the same state again.
  ASSERT_TRUE(second->commit(request.manifest).ok());
  const Status refused = first->commit(request.manifest);
  EXPECT_TRUE(absl::IsAlreadyExists(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("checkpoint.directory of its own"));
  ASSERT_TRUE(first->abort().ok());
  EXPECT_EQ(latest(), 20) << "the one that lost removes nothing";
  EXPECT_TRUE(absl::IsAlreadyExists(sample::save(manager(), request)));
}

INSTANTIATE_TEST_SUITE_P(, StoreCrashTest, ::testing::Bool(), [](const auto& info) {
  return info.param ? "AnswersLost" : "NothingDone";
});

INSTANTIATE_TEST_SUITE_P(, CrashTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "PowerLost" : "ProcessDied"; });

}  // namespace
}  // namespace tessera
