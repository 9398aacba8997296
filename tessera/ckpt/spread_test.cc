#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tessera/ckpt/save_group_testing.h"
#include "tessera/ckpt/spread_files.h"
#include "tessera/ckpt/testing.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Four processes, each with a place of its own, that keep each shard on two of them.
class SpreadTest : public ScratchTest {
 protected:
  static constexpr int kProcesses = 4;

  std::string place(int process) const { return folder_ / str_cat("machine-", process); }
  std::string own_folder(int process) const {
    return join_path(place(process), str_cat("process_", process));
  }

  /// Of all, or of those that stay alive in it.
  std::vector<SaveResult> save(int64_t step, bool twice = true, int64_t saved_unix_s = 1) {
    Room room(kProcesses);
    std::vector<SaveResult> results(kProcesses);
    std::vector<Thread> processes;
    for (int process = 0; process < kProcesses; ++process) {
      processes.emplace_back("process", [&, process] {
        RoomGroup group(room, process);
        const CheckpointManager manager(posix_, own_folder(process),
                                        {.keep_last = 2, .parts = true});
        CheckpointSaver::Options options{.threads = 2, .group = &group, .spread = true};
        if (twice) options.second_copy = {&posix_, own_folder((process + 1) % kProcesses)};
        CheckpointSaver saver(manager, clock_, options);
        SaveRequest request = share_of(sample::request(step, sample::few_specs()), process, 4);
        request.manifest.saved_unix_s = saved_unix_s + process;  // no two clocks agree
        results[process] = saver.save(std::move(request)).get();
      });
    }
    processes.clear();  // joins
    return results;
  }

  SpreadFiles spread(const std::vector<int>& processes) {
    std::vector<SpreadFiles::Place> places;
    for (const int process : processes) {
      const auto index = index_place(posix_, place(process));
      CHECK_MSG(index.ok(), index.status().ToString());
      const auto told = place_index_from_text(to_text(*index));
      CHECK_MSG(told.ok(), told.status().ToString());
      places.push_back({&posix_, place(process), *told});
    }
    return SpreadFiles("spread", std::move(places));
  }
  /// The newest that can be read from these places.
  std::optional<int64_t> newest(const std::vector<int>& processes) {
    SpreadFiles files = spread(processes);
    const CheckpointManager manager(files, "spread");
    const std::optional<int64_t> step = latest_good(manager);
    if (step) expect_few(manager, *step);
    return step;
  }
  void lose(int process) { std::filesystem::remove_all(place(process)); }

  FakeClock clock_;
};

TEST_F(SpreadTest, EachShardIsOnTwoPlacesAndAnyOneMayBeLost) {
  for (const SaveResult& result : save(5)) EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(newest({0, 1, 2, 3}), 5);
  for (int lost = 0; lost < kProcesses; ++lost) {
    std::vector<int> left;
    for (int process = 0; process < kProcesses; ++process) {
      if (process != lost) left.push_back(process);
    }
    EXPECT_EQ(newest(left), 5) << "without " << lost;
  }
  EXPECT_EQ(newest({0, 2}), 5) << "neighbours hold the rest";
  EXPECT_EQ(newest({0, 1}), std::nullopt) << "the shards of process 2 were on 2 and 3";
  const CheckpointManager one(posix_, own_folder(0));
  EXPECT_FALSE(one.check(5, CheckDepth::kFiles).ok()) << "a part is no checkpoint";
}

TEST_F(SpreadTest, WithoutSecondCopiesEachPlaceIsNeeded) {
  for (const SaveResult& result : save(5, /*twice=*/false)) EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(newest({0, 1, 2, 3}), 5);
  EXPECT_EQ(newest({0, 1, 2}), std::nullopt);
}

TEST_F(SpreadTest, TheNewestThatIsWholeIsTaken) {
  save(5);
  save(6, /*twice=*/false);
  EXPECT_EQ(newest({0, 1, 2, 3}), 6);
  lose(1);
  EXPECT_EQ(newest({0, 2, 3}), 5);
}

TEST_F(SpreadTest, OnlyTheNewestAreKept) {
  for (const int64_t step : {1, 2, 3}) save(step);
  for (int process = 0; process < kProcesses; ++process) {
    EXPECT_THAT(*CheckpointManager(posix_, own_folder(process)).list(), ElementsAre(2, 3));
  }
}

TEST_F(SpreadTest, ADamagedCopyIsReadFromTheOtherPlace) {
  save(5);
  int damaged = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place(1))) {
    if (!entry.is_regular_file() || !entry.path().filename().string().starts_with("c")) continue;
    if (entry.path().filename() == kCheckpointManifestFile) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.put('\x5a').put('\x5a').put('\x5a');
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  SpreadFiles files = spread({1, 0, 2, 3});  // the damaged ones first
  const CheckpointManager manager(files, "spread");
  expect_few(manager, 5);
  EXPECT_EQ(newest({1, 2}), std::nullopt) << "of process 1's shards 1 has the damaged ones alone";
}

TEST_F(SpreadTest, PartsOfTwoSavesAreNeverMixed) {
  save(5, /*twice=*/true, /*saved_unix_s=*/100);
  // Machine 3 goes away with its parts; the others save the step again, and it comes back.
  std::filesystem::rename(place(3), folder_ / "away");
  for (const int process : {0, 1, 2}) lose(process);
  save(5, /*twice=*/true, /*saved_unix_s=*/200);
  lose(3);
  std::filesystem::rename(folder_ / "away", place(3));
  SpreadFiles files = spread({3, 0, 1, 2});
  const auto reader = CheckpointManager(files, "spread").open(5);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->manifest().saved_unix_s, 200);
  EXPECT_EQ(newest({3, 0, 1, 2}), 5);
}

TEST_F(SpreadTest, WhatWasNotCommittedOrIsNoManifestIsNotThere) {
  save(5);
  std::filesystem::rename(join_path(own_folder(0), "5"), join_path(own_folder(0), "5.tmp"));
  posix_.write_file(join_path(own_folder(1), "5/checkpoint.json"), {}).IgnoreError();
  EXPECT_THAT(*index_place(posix_, place(0)), ElementsAre());
  EXPECT_THAT(*index_place(posix_, place(1)), ElementsAre());
  EXPECT_THAT(*index_place(posix_, place(9)), ElementsAre());
  EXPECT_EQ(newest({0, 1, 2, 3}), std::nullopt);
  EXPECT_EQ(place_index_from_text("[{\"step\": 1}]").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SpreadTest, AFailureOnOneLeavesNothingOnAny) {
  save(5);
  posix_.write_file(folder_ / "machine-2-file", {}).IgnoreError();
  std::filesystem::remove_all(own_folder(2));
  std::filesystem::create_symlink(folder_ / "machine-2-file", own_folder(2));
  for (const SaveResult& result : save(6))
    EXPECT_THAT(std::string(result.status.message()), HasSubstr("process_2"));
  EXPECT_EQ(newest({0, 1, 3}), 5);
  for (const int process : {0, 1, 3})
    EXPECT_FALSE(posix_.exists(join_path(own_folder(process), "6.tmp")));
}

TEST_F(SpreadTest, OfSeveralTiersTheNewestIsRead) {
  save(5);
  const CheckpointManager durable(posix_, root_);
  save_few(durable, 4);
  SpreadFiles files = spread({0, 1, 2, 3});
  const CheckpointManager local(files, "spread");
  const CheckpointManager* const tiers[] = {&local, &durable};
  std::vector<std::string> read;
  const auto note = [&](const CheckpointReader& reader) {
    read.push_back(reader.folder());
    return absl::OkStatus();
  };
  EXPECT_EQ(read_latest(tiers, note)->step, 5);
  save_few(durable, 5);
  EXPECT_EQ(read_latest(tiers, note)->step, 5);
  save_few(durable, 6);
  EXPECT_EQ(read_latest(tiers, note)->step, 6);
  EXPECT_THAT(read, ElementsAre("spread/5", "spread/5", join_path(root_, "6")));
  const auto damaged = read_latest(tiers, [&](const CheckpointReader& reader) {
    return reader.folder() == "spread/5" ? absl::OkStatus() : data_loss("cannot be read");
  });
  EXPECT_EQ(damaged->step, 5);
  ASSERT_EQ(damaged->skipped.size(), 1);
  EXPECT_EQ(damaged->skipped[0].folder, join_path(root_, "6"));
}

}  // namespace
}  // namespace tessera
