#include "tessera/ckpt/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tessera/ckpt/sample_state.h"
#include "tessera/ckpt/testing.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string message(const Status& status) { return std::string(status.message()); }

class ManagerTest : public ScratchTest {
 protected:
  CheckpointManager manager(RetentionPolicy policy = {}) {
    return CheckpointManager(disk_, root_, policy);
  }
  void save(int64_t step) {
    const Status status = sample::save(manager(), sample::request(step, sample::few_specs()));
    ASSERT_TRUE(status.ok()) << status;
  }
  std::string path(std::string_view name) const { return join_path(root_, name); }
  std::string read(std::string_view name) { return *disk_.read_file(path(name)); }
  void write(std::string_view name, std::string_view text) {
    ASSERT_TRUE(disk_.write_file(path(name), {std::as_bytes(std::span(text))}).ok());
  }
  /// Every file below, from `folder` on.
  std::vector<std::string> files_below(const std::string& folder) {
    std::vector<std::string> files;
    const auto entries = disk_.list(path(folder));
    for (const FileInfo& entry : *entries) {
      const std::string name = join_path(folder, entry.name);
      if (entry.is_directory) {
        for (std::string& file : files_below(name)) files.push_back(std::move(file));
      } else {
        files.push_back(name);
      }
    }
    return files;
  }
};

TEST_F(ManagerTest, FindsNothingWhereNothingIs) {
  EXPECT_THAT(*manager().list(), IsEmpty());
  EXPECT_EQ(manager().latest()->step, std::nullopt);
  EXPECT_THAT(message(manager().open(3).status()), HasSubstr("there are none"));
}

TEST_F(ManagerTest, ListsStepsInOrderAndIgnoresOtherNames) {
  for (const int64_t step : {9, 100, 20}) save(step);
  for (const char* other : {"latest", "007", "-1", "5x", "12.tmp.old"}) {
    ASSERT_TRUE(disk_.create_dir(path(other)).ok());
  }
  EXPECT_THAT(*manager().list(), ElementsAre(9, 20, 100));
  EXPECT_EQ(manager().latest()->step, 100);
  EXPECT_THAT(manager().latest()->skipped, IsEmpty());
  EXPECT_TRUE(absl::IsAlreadyExists(manager().begin(20, sample::few_specs()).status()));
}

TEST_F(ManagerTest, LatestSkipsTheIncompleteAndTheDamagedAndSaysWhy) {
  for (const int64_t step : {1, 2, 3, 4, 5}) save(step);
  ASSERT_TRUE(disk_.remove(path("5/checkpoint.json")).ok());
  write("4/state/step/c", "short");
  std::string chunk = read("3/state/params/w/c.1.0");
  chunk[3] ^= 0x10;
  write("3/state/params/w/c.1.0", chunk);
  ASSERT_TRUE(disk_.create_dir(path("6.tmp")).ok());

  const auto latest = manager().latest();
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ(latest->step, 2);
  ASSERT_EQ(latest->skipped.size(), 4U);
  EXPECT_EQ(latest->skipped[0].folder, path("6.tmp"));
  EXPECT_THAT(latest->skipped[0].reason, HasSubstr("never completed"));
  EXPECT_THAT(latest->skipped[1].reason, HasSubstr("has no checkpoint.json"));
  EXPECT_THAT(
      latest->skipped[2].reason,
      AllOf(HasSubstr("4/state/step/c: has 5 bytes instead of 12"), HasSubstr("parameter step")));
  EXPECT_THAT(latest->skipped[3].reason,
              AllOf(HasSubstr("3/state/params/w/c.1.0: piece 0 has CRC-32C"),
                    HasSubstr("parameter params.w")));
  EXPECT_EQ(manager().latest(CheckDepth::kFiles)->step, 3) << "sizes do not show a flipped bit";
}

// Reads every array of the checkpoint, as a restore does.
Status read_all(const CheckpointReader& reader) {
  for (const ArrayRecord& array : reader.manifest().arrays) {
    RETURN_IF_ERROR(reader.read_array(array.spec.name).status());
  }
  return absl::OkStatus();
}

TEST_F(ManagerTest, ReadsTheNewestOnceAndFallsBackWhereReadingFindsDamage) {
  for (int64_t step : {1, 2, 3}) save(step);
  std::string bytes = read("3/state/params/w/c.1.0");
  bytes[2] = static_cast<char>(bytes[2] ^ 1);
  write("3/state/params/w/c.1.0", bytes);
  const int64_t before = disk_.bytes_read();
  std::vector<int64_t> tried;
  const auto latest = manager().read_latest([&](const CheckpointReader& reader) {
    tried.push_back(reader.manifest().step);
    return read_all(reader);
  });
  const int64_t read_with_damage = disk_.bytes_read() - before;
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ(latest->step, 2);
  EXPECT_THAT(tried, ElementsAre(3, 2));
  const auto verified = manager().latest();
  ASSERT_EQ(latest->skipped.size(), 1U);
  EXPECT_EQ(latest->skipped[0].reason, verified->skipped[0].reason) << "the same words";
  EXPECT_THAT(latest->skipped[0].reason,
              AllOf(HasSubstr("3/state/params/w/c.1.0: piece 0 has CRC-32C"),
                    HasSubstr("parameter params.w")));
  // Undamaged, the data is read no more often than by the reader alone.
  bytes[2] = static_cast<char>(bytes[2] ^ 1);
  write("3/state/params/w/c.1.0", bytes);
  const int64_t start = disk_.bytes_read();
  ASSERT_TRUE(read_all(**manager().open(3)).ok());
  const int64_t once = disk_.bytes_read() - start;
  EXPECT_EQ(manager().read_latest(read_all)->step, 3);
  const int64_t with_checks = disk_.bytes_read() - start - once;
  int64_t texts = 0;
  for (const std::string& file : files_below("3")) {
    if (file.ends_with("zarr.json")) texts += static_cast<int64_t>(read(file).size());
  }
  EXPECT_EQ(with_checks, once + texts);
  EXPECT_GT(read_with_damage, 2 * with_checks) << "else the count counts nothing";
}

TEST_F(ManagerTest, AnErrorThatSaysNothingOfTheBytesEndsTheReading) {
  for (int64_t step : {1, 2}) save(step);
  int calls = 0;
  const auto latest = manager().read_latest([&](const CheckpointReader&) {
    ++calls;
    return failed_precondition("another model");
  });
  EXPECT_EQ(message(latest.status()), "another model");
  EXPECT_EQ(calls, 1);
}

TEST_F(ManagerTest, DamagedTextsAreNotReadPast) {
  save(1);
  write("1/state/params/w/zarr.json", "{}");
  const auto latest = manager().read_latest(read_all);
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ(latest->step, std::nullopt);
  EXPECT_THAT(latest->skipped[0].reason, HasSubstr("1/state/params/w/zarr.json: has CRC-32C"));
}

TEST_F(ManagerTest, AnyFlippedBitInAnyFileIsFoundAndNamed) {
  save(1);
  for (const std::string& file : files_below("1")) {
    const std::string good = read(file);
    // Every bit of the chunks; of the long texts, one of each byte.
    const bool is_text = file.ends_with(".json");
    for (size_t bit = 0; bit < good.size() * 8;
         bit += is_text ? 8 + (bit / 8 + 1) % 8 - bit % 8 : 1) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      write(file, bad);
      const auto damages = manager().verify(1);
      ASSERT_TRUE(damages.ok()) << damages.status();
      ASSERT_EQ(damages->size(), 1U) << file << " bit " << bit;
      EXPECT_EQ(damages->front().file, path(file));
      if (file.find("/params/w/") != file.npos) {
        EXPECT_EQ(damages->front().array, "params.w");
      }
    }
    write(file, good);
  }
  EXPECT_THAT(*manager().verify(1), IsEmpty());
}

TEST_F(ManagerTest, AnyFlippedBitInACompressedFileIsFoundAndNamed) {
  std::vector<ArraySpec> specs = sample::compressed_specs();
  std::erase_if(specs, [](const ArraySpec& spec) { return spec.shape.elements() > 1000; });
  ASSERT_TRUE(sample::save(manager(), sample::request(1, specs)).ok());
  std::map<std::string, std::vector<std::byte>> values;
  for (const ArraySpec& spec : specs) {
    const HostArray value = sample::values_of(spec);
    values[spec.name].assign(value.bytes().begin(), value.bytes().end());
  }
  int64_t bits = 0, damaged = 0;
  for (const std::string& file : files_below("1/state")) {
    if (file.ends_with(".json")) continue;
    const std::string good = read(file);
    for (size_t bit = 0; bit < good.size() * 8; ++bit, ++bits) {
      std::string bad = good;
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      write(file, bad);
      const auto damages = manager().verify(1);
      ASSERT_EQ(damages->size(), 1U) << file << " bit " << bit;
      EXPECT_EQ(damages->front().file, path(file));
      const auto reader = manager().open(1);
      const auto array = (*reader)->read_array(damages->front().array);
      // Of a piece that sticks out of the array as a whole nothing is read.
      const bool as_saved =
          array.ok() && std::ranges::equal(array->bytes(), values.at(damages->front().array));
      ASSERT_TRUE(as_saved || absl::IsDataLoss(array.status()))
          << file << " bit " << bit << ": " << array.status();
      damaged += as_saved ? 0 : 1;
    }
    write(file, good);
  }
  EXPECT_GT(damaged, bits / 2);
  EXPECT_THAT(*manager().verify(1), IsEmpty());
}

TEST_F(ManagerTest, MissingFilesAndChunksOfAnotherStepAreFound) {
  save(1);
  const std::vector<ArraySpec> other = {{"params.v", {DType::kF32, {4, 4}}, {2, 4}, {1, 2}, {}},
                                        {"params.c", {DType::kBF16, {4}}, {4}, {}, {}}};
  ASSERT_TRUE(sample::save(manager(), sample::request(2, other)).ok());
  for (const auto& [file, stranger] :
       {std::pair("1/state/params/w/c.0.0", "2/state/params/v/c.0.0"),
        std::pair("1/state/params/b/c.0", "2/state/params/c/c.0")}) {
    const std::string good = read(file);
    write(file, read(stranger));  // whole, with right checksums of its own
    const auto damages = manager().verify(1);
    ASSERT_EQ(damages->size(), 1U);
    EXPECT_THAT(damages->front().reason, HasSubstr("not the file that the manifest names"));
    const auto reader = *manager().open(1);
    EXPECT_TRUE(absl::IsDataLoss(reader->read_array(damages->front().array).status()));
    // Also where only a part of it is read.
    const auto* record = *reader->array_info(damages->front().array);
    const Box first{Dims(record->spec.shape.rank(), 0), Dims(record->spec.shape.rank(), 1)};
    std::vector<std::byte> element(dtype_host_bytes(record->spec.shape.dtype));
    EXPECT_TRUE(absl::IsDataLoss(reader->read_region(record->spec.name, first, element)));
    write(file, good);
  }
  for (const std::string& file : files_below("1/state")) {
    const std::string good = read(file);
    ASSERT_TRUE(disk_.remove(path(file)).ok());
    const auto damages = manager().verify(1);
    ASSERT_EQ(damages->size(), 1U) << file;
    EXPECT_EQ(describe(*damages).find(path(file) + ": is missing"), 0U) << describe(*damages);
    write(file, good);
  }
}

TEST_F(ManagerTest, ReadingADamagedChunkNamesFileParameterAndTheOlderGoodStep) {
  for (const int64_t step : {10, 20, 30}) save(step);
  for (const char* file : {"20/state/params/b/c.0", "30/state/params/b/c.0"}) {
    std::string chunk = read(file);
    chunk[0] ^= 1;
    write(file, chunk);
  }
  const Status status = (*manager().open(30))->read_array("params.b").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(message(status), AllOf(HasSubstr(path("30/state/params/b/c.0")),
                                     HasSubstr("parameter params.b of checkpoint step 30"),
                                     HasSubstr("older checkpoint that is good is step 10")));
  EXPECT_TRUE((*manager().open(30))->read_array("params.w").ok());

  write("30/checkpoint.json", "{}");
  EXPECT_THAT(message(manager().open(30).status()), HasSubstr("good is step 10"));
}

TEST_F(ManagerTest, KeepsTheNewestGoodOnesAndMultiples) {
  for (const int64_t step : {10, 20, 25, 30, 40, 50}) save(step);
  const auto removed = manager({.keep_last = 2, .keep_every_steps = 20}).prune();
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_THAT(*removed, ElementsAre(30, 25, 10));
  EXPECT_THAT(*manager().list(), ElementsAre(20, 40, 50));
  EXPECT_THAT(*manager().prune(), IsEmpty()) << "the default keeps all";
}

TEST_F(ManagerTest, KeepsTheBestByAMetric) {
  const std::vector<std::pair<int64_t, const char*>> losses = {
      {10, R"({"eval_loss": 3.5})"}, {20, R"({"eval_loss": 2.5})"}, {30, R"({"eval_loss": 2.75})"},
      {40, R"({"loss": 0.1})"},      {50, R"({"eval_loss": 2.5})"}, {60, R"({"eval_loss": 9})"},
      {70, R"({"eval_loss": null})"}};
  for (const auto& [step, metrics] : losses) {
    SaveRequest request = sample::request(step, sample::few_specs());
    request.manifest.metrics_json = metrics;
    ASSERT_TRUE(sample::save(manager(), request).ok());
  }
  const RetentionPolicy policy{.keep_last = 1, .keep_every_steps = 0, .keep_best = 2};
  EXPECT_THAT(*manager(policy).surplus(), ElementsAre(60, 40, 30, 10));
  EXPECT_EQ(manager().list()->size(), 7U) << "asking removes nothing";
  // A damaged one is not the best of anything.
  write("20/state/step/c", "short");
  EXPECT_THAT(*manager(policy).prune(), ElementsAre(60, 40, 20, 10));
  EXPECT_THAT(*manager().list(), ElementsAre(30, 50, 70));
  EXPECT_EQ(manager().latest()->step, 70);
}

TEST_F(ManagerTest, DamagedOnesDoNotCountTowardsThoseKept) {
  for (const int64_t step : {10, 20, 30, 40}) save(step);
  std::string chunk = read("40/state/params/b/c.0");
  chunk[0] ^= 1;
  write("40/state/params/b/c.0", chunk);
  EXPECT_THAT(*manager({.keep_last = 1}).prune(), ElementsAre(20, 10));
  EXPECT_THAT(*manager().list(), ElementsAre(30, 40));
  EXPECT_EQ(manager().latest()->step, 30);
}

TEST_F(ManagerTest, NothingIsRemovedWhenNoneIsGood) {
  for (const int64_t step : {10, 20}) {
    save(step);
    write(str_cat(step, "/checkpoint.json"), "{}");
  }
  EXPECT_THAT(*manager({.keep_last = 1}).prune(), IsEmpty());
}

TEST_F(ManagerTest, ADamagedStepIsReplacedWhenItIsSavedAgain) {
  save(10);
  write("10/state/params/b/c.0", "");
  save(10);
  EXPECT_TRUE(manager().check(10, CheckDepth::kContents).ok());
}

TEST_F(ManagerTest, CleanRemovesWhatDeadRunsLeftAndNothingElse) {
  save(10);
  for (const char* name : {"20.tmp", "5.deleted", "notes"}) {
    ASSERT_TRUE(disk_.create_dirs(join_path(path(name), "state")).ok());
  }
  EXPECT_THAT(*manager().clean(), ElementsAre("20.tmp", "5.deleted"));
  EXPECT_TRUE(disk_.exists(path("notes")));
  EXPECT_EQ(manager().latest()->step, 10);
}

TEST_F(ManagerTest, PoliciesThatMakeNoSenseAreRefused) {
  EXPECT_TRUE((RetentionPolicy{.keep_last = 3, .keep_every_steps = 100}).validate().ok());
  EXPECT_THAT(message(RetentionPolicy{.keep_last = -1}.validate()), HasSubstr("keep_last is -1"));
  EXPECT_THAT(message(RetentionPolicy{.keep_every_steps = -5}.validate()), HasSubstr("-5"));
  EXPECT_THAT(message(RetentionPolicy{.keep_best = -2}.validate()), HasSubstr("keep_best is -2"));
}

// Else a second run, or `checkpoint prune`, would take what is being saved for left by the dead.
TEST_F(ManagerTest, WhoCleansKeepsOthersOutAsLongAsItLives) {
  save(10);
  {
    const CheckpointManager run = manager();
    ASSERT_TRUE(run.clean().ok());
    EXPECT_TRUE(run.clean().ok());
    ASSERT_TRUE(disk_.create_dir(path("20.tmp")).ok());
    // However the folder is called.
    const std::string link = path("link");
    std::filesystem::create_directory_symlink(root_, link);
    for (const std::string& folder : {root_, root_ + "/", root_ + "/.", link}) {
      const Status status = CheckpointManager(disk_, folder).clean().status();
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(message(status),
                  AllOf(HasSubstr(folder + " is in use: process "), HasSubstr("wait for its end")));
    }
    EXPECT_TRUE(disk_.exists(path("20.tmp")));
    EXPECT_THAT(*manager().list(), ElementsAre(10)) << "to look is not to touch";
  }
  EXPECT_THAT(*manager().clean(), ElementsAre("20.tmp"));
}

// As an int 2^31 is negative, and 2^32 is 0.
TEST_F(ManagerTest, KeepsHoweverManyAreAskedFor) {
  for (const int64_t step : {10, 20, 30}) save(step);
  for (const int64_t many : {int64_t{3}, int64_t{1} << 31, int64_t{1} << 32, INT64_MAX}) {
    EXPECT_THAT(*manager({.keep_last = many}).surplus(), IsEmpty()) << many;
  }
  EXPECT_THAT(*manager({.keep_last = 1}).surplus(), ElementsAre(20, 10));
}

}  // namespace
}  // namespace tessera
