// Checkpoints in an object store, over a network where every few requests go wrong.

#include "tessera/ckpt/testing.h"
#include "tests/storage/store_fixture.h"

namespace tessera::storage_testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class S3CheckpointTest : public StoreTest {
 protected:
  CheckpointManager manager(RetentionPolicy policy = {}) { return {files_, path(), policy, 2}; }
  void save(int64_t step) {
    const CheckpointManager made = manager();
    CheckpointSaver saver(made, clock_, {.threads = 4});
    const SaveResult result = saver.save(sample::request(step, sample::few_specs())).get();
    ASSERT_TRUE(result.status.ok()) << result.status;
  }
  void expect_readable(int64_t step) { expect_few(manager(), step); }
};

TEST_F(S3CheckpointTest, AreSavedFoundReadAndPrunedOverABadNetwork) {
  proxy_.every(4);
  for (const int64_t step : {10, 20, 30}) save(step);
  EXPECT_THAT(*manager().list(), ElementsAre(10, 20, 30));
  EXPECT_EQ(manager().latest()->step, 30);
  for (const int64_t step : {10, 20, 30}) {
    expect_readable(step);
    EXPECT_THAT(*manager().verify(step), IsEmpty());
  }
  EXPECT_THAT(*manager({.keep_last = 1}).prune(), ElementsAre(20, 10));
  EXPECT_THAT(*manager().list(), ElementsAre(30));
  EXPECT_EQ(files_.list(path())->size(), 1u);
  EXPECT_GE(proxy_.struck(), 20);
}

TEST_F(S3CheckpointTest, WithoutItsManifestThereIsNoneAndItIsCleaned) {
  save(10);
  save(20);
  ASSERT_TRUE(files_.remove(path("20/checkpoint.json")).ok());
  const S3Path part = *parse_s3_path(path("20/state/large"));
  ASSERT_TRUE(files_.client().begin_upload(part).ok());
  const auto latest = manager().latest();
  EXPECT_EQ(latest->step, 10);
  ASSERT_EQ(latest->skipped.size(), 1u);
  EXPECT_EQ(latest->skipped[0].folder, path("20"));
  EXPECT_THAT(*manager().list(), ElementsAre(10));
  EXPECT_THAT(*manager().clean(), ElementsAre("20"));
  EXPECT_FALSE(files_.exists(path("20")));
  EXPECT_THAT(*files_.client().list_uploads({"bucket", ""}), IsEmpty());
  save(20);
  EXPECT_EQ(manager().latest()->step, 20);
}

TEST_F(S3CheckpointTest, ASaveThatFailsLeavesTheOldOneAndNothingElse) {
  save(10);
  proxy_.add({.times = 1000, .only = "/20/state/params/w/c"});
  const CheckpointManager made = manager();
  CheckpointSaver saver(made, clock_);
  const SaveResult result = saver.save(sample::request(20, sample::few_specs())).get();
  EXPECT_TRUE(absl::IsUnavailable(result.status)) << result.status;
  EXPECT_EQ(manager().latest()->step, 10);
  EXPECT_FALSE(files_.exists(path("20/checkpoint.json")));
}

}  // namespace
}  // namespace tessera::storage_testing
