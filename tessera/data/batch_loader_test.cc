#include "tessera/data/batch_loader.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message(const Status& status) { return std::string(status.message()); }

// `tokens` tokens in documents of `document` tokens each.
std::shared_ptr<const PackedExamples> make_examples(const std::string& folder, int64_t tokens,
                                                    int64_t document, int64_t length) {
  std::vector<std::vector<int32_t>> documents;
  for (int64_t i = 0; i < tokens; ++i) {
    if (i % document == 0) documents.emplace_back();
    documents.back().push_back(i % 250);
  }
  return PackedExamples::create(make_store(folder, documents), std::nullopt, length).value();
}

std::unique_ptr<BatchLoader> loader(std::shared_ptr<const ExampleSource> examples,
                                    const BatchLoaderOptions& options) {
  return BatchLoader::create(std::move(examples), options).value();
}

void append(std::vector<int64_t>* ids, const Batch& batch) {
  ids->insert(ids->end(), batch.example_ids.begin(), batch.example_ids.end());
}

bool same(const Batch& a, const Batch& b) {
  return a.tokens == b.tokens && a.targets == b.targets && a.mask == b.mask &&
         a.segment_ids == b.segment_ids && a.positions == b.positions &&
         a.example_ids == b.example_ids && a.position == b.position;
}

class BatchLoaderTest : public testing::Test {
 protected:
  TempFolder temp_;
  // 143 tokens: 29 examples of 5, the last with 3 tokens.
  std::shared_ptr<const PackedExamples> examples_ = make_examples(temp_ / "s", 143, 13, 5);
};

TEST_F(BatchLoaderTest, EachEpochUsesEachExampleOnceWhateverTheBatchSizeAndSeed) {
  for (const int64_t batch_size : {1, 2, 3, 7, 29}) {
    for (const uint64_t seed : {0, 1, 2}) {
      const auto batches = loader(examples_, {.batch_size = batch_size, .seed = seed});
      std::vector<int64_t> ids;
      while (ids.size() < 4 * 29) append(&ids, batches->next().value());
      std::set<std::vector<int64_t>> orders;
      for (int epoch = 0; epoch < 4; ++epoch) {
        const std::vector<int64_t> order(ids.begin() + epoch * 29, ids.begin() + (epoch + 1) * 29);
        EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), 29u);
        orders.insert(order);
      }
      EXPECT_EQ(orders.size(), 4u) << "each epoch is shuffled anew";
    }
  }
}

TEST_F(BatchLoaderTest, TheSequenceDoesNotDependOnBatchSizeWorkersOrPrefetch) {
  const auto ids_with = [&](const BatchLoaderOptions& options) {
    const auto batches = loader(examples_, options);
    std::vector<int64_t> ids;
    while (ids.size() < 84) append(&ids, batches->next().value());
    ids.resize(84);
    return ids;
  };
  const std::vector<int64_t> expected = ids_with({.batch_size = 1, .seed = 5, .workers = 0});
  EXPECT_EQ(ids_with({.batch_size = 4, .seed = 5, .workers = 0}), expected);
  EXPECT_EQ(ids_with({.batch_size = 7, .seed = 5, .workers = 1, .prefetch = 1}), expected);
  EXPECT_EQ(ids_with({.batch_size = 6, .seed = 5, .workers = 3, .prefetch = 8}), expected);
  EXPECT_NE(ids_with({.batch_size = 6, .seed = 6}), expected);
}

TEST_F(BatchLoaderTest, RowsOfTheProcessesMakeUpTheGlobalBatch) {
  const auto whole = loader(examples_, {.batch_size = 6, .seed = 9, .workers = 0});
  for (const int64_t processes : {2, 3, 6}) {
    std::vector<std::unique_ptr<BatchLoader>> parts;
    const int64_t rows = 6 / processes;
    for (int64_t p = 0; p < processes; ++p) {
      std::vector<int64_t> own;
      for (int64_t row = p * rows; row < (p + 1) * rows; ++row) own.push_back(row);
      parts.push_back(loader(examples_, {.batch_size = 6, .rows = own, .seed = 9}));
    }
    for (int step = 0; step < 12; ++step) {
      std::vector<int64_t> ids;
      std::vector<int32_t> tokens;
      for (auto& part : parts) {
        const Batch batch = part->next().value();
        EXPECT_EQ(batch.rows, rows);
        append(&ids, batch);
        tokens.insert(tokens.end(), batch.tokens.begin(), batch.tokens.end());
      }
      const Batch expected = whole->batch_at(step * 6).value();
      EXPECT_EQ(ids, expected.example_ids);
      EXPECT_EQ(tokens, expected.tokens);
    }
  }
}

TEST_F(BatchLoaderTest, ARunStoppedAtAnyStepGoesOnWithTheSameBatchesAlsoOfAnotherSize) {
  const BatchLoaderOptions options = {.batch_size = 4, .seed = 3, .workers = 2};
  for (int stop = 0; stop < 20; ++stop) {
    const auto first = loader(examples_, options);
    for (int step = 0; step < stop; ++step) ASSERT_TRUE(first->next().ok());
    const Json state = Json::parse(first->state().dump());
    const auto resumed = loader(examples_, options);
    ASSERT_TRUE(resumed->restore(state).ok());
    EXPECT_EQ(resumed->tokens_used(), first->tokens_used());
    ASSERT_TRUE(same(resumed->next().value(), first->next().value())) << "stopped at " << stop;

    const auto larger = loader(examples_, {.batch_size = 8, .seed = 3});
    ASSERT_TRUE(larger->restore(state).ok());
    std::vector<int64_t> ids, expected;
    append(&ids, larger->next().value());
    append(&expected, first->batch_at(stop * 4).value());
    append(&expected, first->batch_at(stop * 4 + 4).value());
    ASSERT_EQ(ids, expected);
  }
}

TEST_F(BatchLoaderTest, SeekDropsWhatWasMadeAhead) {
  const auto batches = loader(examples_, {.batch_size = 4, .seed = 3, .workers = 2});
  const Batch first = batches->next().value();
  ASSERT_TRUE(batches->next().ok());
  ASSERT_TRUE(batches->seek(0).ok());
  EXPECT_TRUE(same(batches->next().value(), first));
  EXPECT_EQ(batches->position(), 4);
}

TEST_F(BatchLoaderTest, TokensUsedAreThoseOfTheRowsSeen) {
  const auto batches = loader(examples_, {.batch_size = 3, .seed = 8, .workers = 0});
  int64_t tokens = 0;
  for (int step = 0; step < 40; ++step) {
    const Batch batch = batches->next().value();
    for (const int32_t id : batch.segment_ids) tokens += id > 0;
    ASSERT_EQ(batches->tokens_used(), tokens) << "step " << step;
  }
  EXPECT_EQ(batches->epoch(), 4);
}

TEST_F(BatchLoaderTest, FiniteEpochsEndWithAPaddedBatchAndThenAnError) {
  const auto batches = loader(examples_, {.batch_size = 8, .shuffle = false, .epochs = 1});
  EXPECT_EQ(batches->batches_left(), 4);
  std::vector<int64_t> ids;
  for (int i = 0; i < 3; ++i) append(&ids, batches->next().value());
  const Batch last = batches->next().value();
  append(&ids, last);
  for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(ids[i], i < 29 ? i : -1);
  EXPECT_THAT(std::vector<float>(last.mask.begin() + 5 * 5, last.mask.end()), Each(0));
  EXPECT_THAT(std::vector<int32_t>(last.tokens.begin() + 5 * 5, last.tokens.end()), Each(258));
  EXPECT_EQ(batches->position(), 29);
  EXPECT_EQ(batches->tokens_used(), 143);
  EXPECT_EQ(batches->batches_left(), 0);
  for (int i = 0; i < 3; ++i) {
    const Status end = batches->next().status();
    EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(message(end), HasSubstr("all 1 epochs of 29 examples"));
  }
  ASSERT_TRUE(batches->seek(0).ok());
  EXPECT_EQ(batches->next()->example_ids[0], 0) << "it can be gone through again";
}

TEST_F(BatchLoaderTest, TooLittleDataForABatchIsAnErrorThatSaysWhatToDo) {
  const Status status = BatchLoader::create(examples_, {.batch_size = 30}).status();
  EXPECT_THAT(message(status), AllOf(HasSubstr("29 examples of 5 tokens do not fill a batch of 30"),
                                     HasSubstr("smaller batch")));
}

TEST_F(BatchLoaderTest, OptionsOutOfRangeAreErrors) {
  const auto error = [&](const BatchLoaderOptions& options) {
    return message(BatchLoader::create(examples_, options).status());
  };
  EXPECT_THAT(error({.batch_size = 0}), HasSubstr("batch size is 0"));
  EXPECT_THAT(error({.epochs = -1}), HasSubstr("epochs is -1"));
  EXPECT_THAT(error({.workers = -1}), HasSubstr("workers is -1"));
  EXPECT_THAT(error({.prefetch = 0}), HasSubstr("prefetch is 0"));
  EXPECT_THAT(error({.rows = {0, 8}}), HasSubstr("row 8 is not within a batch of 8"));
  EXPECT_THAT(error({.rows = {-1}}), HasSubstr("row -1 is not within"));
  EXPECT_THAT(error({.rows = {2, 2}}), HasSubstr("rows are not ascending at 2"));
  EXPECT_FALSE(loader(examples_, {.epochs = 2})->seek(59).ok());
  EXPECT_FALSE(loader(examples_, {})->seek(-1).ok());
}

/// Examples of another source; which of them were read is counted.
class CountedExamples : public ExampleSource {
 public:
  explicit CountedExamples(std::shared_ptr<const ExampleSource> of) : of_(std::move(of)) {}
  int64_t size() const override { return of_->size(); }
  int64_t length() const override { return of_->length(); }
  int32_t pad_token() const override { return of_->pad_token(); }
  int64_t tokens_in(int64_t index) const override { return of_->tokens_in(index); }
  int64_t tokens() const override { return of_->tokens(); }
  bool only_last_is_short() const override { return of_->only_last_is_short(); }
  std::string fingerprint() const override { return of_->fingerprint(); }
  Status read(int64_t index, const RowSpans& row) const override {
    ++reads_[index];
    return of_->read(index, row);
  }
  const std::map<int64_t, int>& reads() const { return reads_; }

 private:
  const std::shared_ptr<const ExampleSource> of_;
  mutable std::map<int64_t, int> reads_;
};

TEST_F(BatchLoaderTest, RowsThatAreNotNextToEachOtherAreReadAndNoOthers) {
  const auto counted = std::make_shared<CountedExamples>(examples_);
  const auto part = loader(counted, {.batch_size = 6, .rows = {1, 4}, .seed = 9, .workers = 0});
  const auto whole = loader(examples_, {.batch_size = 6, .seed = 9});
  for (int step = 0; step < 4; ++step) {
    const Batch batch = part->next().value();
    const Batch all = whole->next().value();
    EXPECT_THAT(batch.row_numbers, ElementsAre(1, 4));
    EXPECT_THAT(batch.example_ids, ElementsAre(all.example_ids[1], all.example_ids[4]));
    for (int64_t row : {0, 1}) {
      const auto tokens = std::span(batch.tokens).subspan(row * batch.length, batch.length);
      EXPECT_TRUE(std::ranges::equal(
          tokens, std::span(all.tokens).subspan((row == 0 ? 1 : 4) * batch.length, batch.length)));
    }
  }
  EXPECT_EQ(counted->reads().size(), 8u);
}

// Bytes, counted in the store: the processes together read what one alone would.
TEST_F(BatchLoaderTest, EachProcessReadsItsOwnSlice) {
  const auto bytes_of = [&](std::vector<int64_t> rows) {
    const auto store = TokenStore::open(temp_ / "s").value();
    const auto examples = PackedExamples::create(store, std::nullopt, 5).value();
    const auto part = loader(examples, {.batch_size = 6, .rows = rows, .seed = 9, .workers = 0});
    for (int step = 0; step < 5; ++step) EXPECT_TRUE(part->next().ok());
    return store->bytes_read();
  };
  const int64_t whole = bytes_of({});
  int64_t together = 0;
  for (const int64_t row : {0, 2, 4}) {
    const int64_t own = bytes_of({row, row + 1});
    EXPECT_LT(own, whole * 2 / 5);
    together += own;
  }
  EXPECT_EQ(together, whole);
}

TEST_F(BatchLoaderTest, AStateOfOtherDataIsRefusedWithTheDifference) {
  const Json state = loader(examples_, {.seed = 3})->state();
  const auto error = [&](std::shared_ptr<const ExampleSource> examples,
                         const BatchLoaderOptions& options) {
    const Status status = loader(std::move(examples), options)->restore(state);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return message(status);
  };
  EXPECT_THAT(error(examples_, {.seed = 4}), HasSubstr("seed = 3, this run has 4"));
  EXPECT_THAT(error(examples_, {.shuffle = false, .seed = 3}), HasSubstr("shuffle = true"));
  EXPECT_THAT(error(make_examples(temp_ / "t", 143, 13, 6), {.seed = 3}),
              HasSubstr("sequence_length = 5, this run has 6"));
  EXPECT_THAT(error(make_examples(temp_ / "t", 142, 13, 5), {.seed = 3}),
              HasSubstr("data.store does not hold what it held"));
  EXPECT_THAT(message(loader(examples_, {})->restore(Json::object())), HasSubstr("damaged"));
}

// Destroys loaders while their threads wait, work, or have met the end.
TEST_F(BatchLoaderTest, ShutsDownAtAnyTime) {
  for (int round = 0; round < 100; ++round) {
    const auto batches = loader(
        examples_, {.batch_size = 8, .epochs = round % 3, .workers = 1 + round % 4, .prefetch = 2});
    for (int i = 0; i < round % 6; ++i) batches->next().status().IgnoreError();
  }
}

class FailingSource final : public ExampleSource {
 public:
  int64_t size() const override { return 100; }
  int64_t length() const override { return 1; }
  int32_t pad_token() const override { return 0; }
  int64_t tokens_in(int64_t) const override { return 1; }
  int64_t tokens() const override { return size(); }
  bool only_last_is_short() const override { return true; }
  std::string fingerprint() const override { return "failing"; }
  Status read(int64_t index, const RowSpans& row) const override {
    if (index == 7 && !healed) return data_loss("example 7 is damaged");
    fill_with_padding(row, 0);
    return {};
  }
  mutable std::atomic<bool> healed = false;
};

TEST_F(BatchLoaderTest, AnErrorComesAtItsBatchAndTheNextCallTriesAgain) {
  const auto source = std::make_shared<FailingSource>();
  const auto batches = loader(source, {.batch_size = 5, .shuffle = false, .workers = 2});
  ASSERT_TRUE(batches->next().ok());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(message(batches->next().status()), "example 7 is damaged");
  source->healed = true;
  EXPECT_THAT(batches->next()->example_ids, ElementsAre(5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace tessera
