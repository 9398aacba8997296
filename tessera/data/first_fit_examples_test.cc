#include "tessera/data/first_fit_examples.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>
#include <set>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Batch read(const ExampleSource& examples, int64_t index) {
  Batch batch = {.rows = 1, .length = examples.length()};
  resize_arrays(&batch);
  const Status status = examples.read(index, row_spans(&batch, 0));
  EXPECT_TRUE(status.ok()) << status;
  return batch;
}

TEST(FirstFitExamples, PutsEachDocumentIntoTheFirstRowWithRoom) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3}, {4, 5, 6, 7}, {8, 9}, {10}, {11}, {12}});
  const auto examples = FirstFitExamples::create(store, std::nullopt, 5).value();
  ASSERT_EQ(examples->size(), 3);
  const int32_t pad = examples->pad_token();
  const Batch first = read(*examples, 0), second = read(*examples, 1), third = read(*examples, 2);
  EXPECT_THAT(first.tokens, ElementsAre(1, 2, 3, 8, 9));
  EXPECT_THAT(first.targets, ElementsAre(2, 3, pad, 9, pad));
  EXPECT_THAT(first.mask, ElementsAre(1, 1, 0, 1, 0));
  EXPECT_THAT(first.segment_ids, ElementsAre(1, 1, 1, 2, 2));
  EXPECT_THAT(first.positions, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(second.tokens, ElementsAre(4, 5, 6, 7, 10));
  EXPECT_THAT(third.tokens, ElementsAre(11, 12, pad, pad, pad));
  EXPECT_THAT(third.segment_ids, ElementsAre(1, 2, 0, 0, 0));
  EXPECT_EQ(examples->tokens(), 12);
  EXPECT_EQ(examples->tokens_in(2), 2);
}

TEST(FirstFitExamples, ALongDocumentIsCutAndItsTargetsGoOn) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3, 4, 5, 6, 7}, {8, 9}});
  const auto examples = FirstFitExamples::create(store, std::nullopt, 3).value();
  ASSERT_EQ(examples->size(), 3);
  EXPECT_THAT(read(*examples, 0).tokens, ElementsAre(1, 2, 3));
  EXPECT_THAT(read(*examples, 0).targets, ElementsAre(2, 3, 4));
  EXPECT_THAT(read(*examples, 0).mask, Each(1));
  EXPECT_THAT(read(*examples, 2).tokens, ElementsAre(7, 8, 9));
}

// Documents of random sizes: each token an input once, targets as in the store, rows as full as the
// best of a plain search says.
TEST(FirstFitExamples, UsesEachTokenOnceAndPacksAsASearchFromTheStartWould) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const TempFolder temp(TempFolder::kMemory);
    std::vector<std::vector<int32_t>> documents;
    int32_t token = 0;
    for (int i = 0; i < 40; ++i) {
      documents.emplace_back();
      for (uint64_t n = 1 + random() % 14; n > 0; --n) documents.back().push_back(token++ % 250);
    }
    const auto store = make_store(temp / "s", documents);
    std::vector<uint64_t> chosen;
    for (uint64_t i = 0; i < 40; ++i) {
      if (random() % 4 != 0) chosen.push_back(i);
    }
    const int64_t length = 1 + static_cast<int64_t>(random() % 12);
    const auto examples = FirstFitExamples::create(store, chosen, length).value();

    std::vector<int64_t> rooms;
    std::multiset<int32_t> expected;
    for (const uint64_t document : chosen) {
      expected.insert(documents[document].begin(), documents[document].end());
      for (int64_t left = std::ssize(documents[document]); left > 0;) {
        const int64_t count = std::min(left, length);
        auto room = std::find_if(rooms.begin(), rooms.end(), [&](int64_t r) { return r >= count; });
        if (room == rooms.end()) room = rooms.insert(rooms.end(), length);
        *room -= count;
        left -= count;
      }
    }
    ASSERT_EQ(examples->size(), std::ssize(rooms));
    std::multiset<int32_t> found;
    for (int64_t i = 0; i < examples->size(); ++i) {
      const Batch batch = read(*examples, i);
      int64_t used = 0;
      for (int64_t at = 0; at < length; ++at) {
        if (batch.segment_ids[at] == 0) continue;
        ++used;
        found.insert(batch.tokens[at]);
        if (batch.mask[at] != 0) {
          EXPECT_EQ(batch.targets[at], (batch.tokens[at] + 1) % 250);
        }
      }
      EXPECT_EQ(used, length - rooms[i]);
      EXPECT_EQ(used, examples->tokens_in(i));
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(FirstFitExamples, SaysWhatIsWrongAndIsToldFromOtherWaysOfPacking) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3}, {4}});
  EXPECT_FALSE(FirstFitExamples::create(store, std::nullopt, 0).ok());
  EXPECT_FALSE(FirstFitExamples::create(store, std::vector<uint64_t>{7}, 4).ok());
  EXPECT_THAT(
      std::string(FirstFitExamples::create(store, std::nullopt, 4, true).status().message()),
      HasSubstr("does not say which tokens to learn"));
  EXPECT_NE(FirstFitExamples::create(store, std::nullopt, 4).value()->fingerprint(),
            PackedExamples::create(store, std::nullopt, 4).value()->fingerprint());
}

}  // namespace
}  // namespace tessera
