#include "tessera/data/packed_examples.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "tessera/data/test_support.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Batch read_all(const ExampleSource& examples) {
  Batch batch = {.rows = examples.size(), .length = examples.length()};
  resize_arrays(&batch);
  for (int64_t i = 0; i < examples.size(); ++i) {
    EXPECT_TRUE(examples.read(i, row_spans(&batch, i)).ok());
  }
  return batch;
}

TEST(PackedExamplesTest, RowsAreAsInTheDocumentation) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3}, {4}, {5, 6, 7, 8, 9}});
  const auto examples = PackedExamples::create(store, std::nullopt, 4).value();
  EXPECT_EQ(examples->size(), 3);
  EXPECT_EQ(examples->tokens_in(0), 4);
  EXPECT_EQ(examples->tokens_in(2), 1);
  const Batch all = read_all(*examples);
  const int32_t P = 258;
  EXPECT_THAT(all.tokens, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, P, P, P));
  EXPECT_THAT(all.targets, ElementsAre(2, 3, P, P, 6, 7, 8, 9, P, P, P, P));
  EXPECT_THAT(all.mask, ElementsAre(1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(all.segment_ids, ElementsAre(1, 1, 1, 2, 1, 1, 1, 1, 1, 0, 0, 0));
  EXPECT_THAT(all.positions, ElementsAre(0, 1, 2, 0, 0, 1, 2, 3, 0, 0, 0, 0));
}

TEST(PackedExamplesTest, ChosenDocumentsArePackedAsIfTheyWereAll) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3}, {4}, {5, 6, 7, 8, 9}, {10, 11}});
  const auto chosen = PackedExamples::create(store, std::vector<uint64_t>{0, 3}, 4).value();
  const auto alone =
      PackedExamples::create(make_store(temp / "t", {{1, 2, 3}, {10, 11}}), std::nullopt, 4)
          .value();
  const Batch a = read_all(*chosen), b = read_all(*alone);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_EQ(a.mask, b.mask);
  EXPECT_EQ(chosen->documents(), 2);
  const auto other = PackedExamples::create(store, std::vector<uint64_t>{0, 2}, 4).value();
  EXPECT_NE(chosen->fingerprint(), other->fingerprint());
}

// Token values tell document and place, so that what a row claims can be checked against the store.
int32_t value_of(int document, int place) { return document * 16 + place; }

TEST(PackedExamplesTest, EveryTokenIsAnInputOnceAndTargetsStayInsideDocuments) {
  const TempFolder temp;
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::vector<int32_t>> documents(1 + random() % 15);
    for (size_t d = 0; d < documents.size(); ++d) {
      for (size_t i = 0; i <= random() % 14; ++i) documents[d].push_back(value_of(d, i));
    }
    const int64_t length = 1 + random() % 20;
    const auto store = make_store(temp / "s", documents);
    std::optional<std::vector<uint64_t>> chosen;
    std::map<int32_t, int> expected;  // token → times as an input
    for (size_t d = 0; d < documents.size(); ++d) {
      for (const int32_t token : documents[d]) ++expected[token];
    }
    if (round % 2 == 1) {
      chosen.emplace();
      for (size_t d = 0; d < documents.size(); ++d) {
        if (d == 0 || random() % 2 == 0) {
          chosen->push_back(d);
        } else {
          for (const int32_t token : documents[d]) expected.erase(token);
        }
      }
    }
    const auto examples = PackedExamples::create(store, chosen, length).value();
    const Batch all = read_all(*examples);
    std::map<int32_t, int> inputs;
    int64_t real_tokens = 0;
    for (int64_t i = 0; i < examples->size(); ++i) real_tokens += examples->tokens_in(i);
    EXPECT_EQ(real_tokens, examples->tokens());
    for (size_t i = 0; i < all.tokens.size(); ++i) {
      const bool row_begins = i % length == 0;
      if (all.segment_ids[i] == 0) {
        ASSERT_EQ(all.tokens[i], 258);
        ASSERT_EQ(all.mask[i], 0);
        continue;
      }
      ++inputs[all.tokens[i]];
      const auto& document = documents[all.tokens[i] / 16];
      const bool last = all.tokens[i] == document.back();
      ASSERT_EQ(all.mask[i], last ? 0 : 1);
      ASSERT_EQ(all.targets[i], last ? 258 : all.tokens[i] + 1);
      const bool document_begins = all.tokens[i] % 16 == 0;
      if (row_begins) {
        ASSERT_EQ(all.segment_ids[i], 1);
        ASSERT_EQ(all.positions[i], 0);
      } else {
        ASSERT_EQ(all.segment_ids[i], all.segment_ids[i - 1] + (document_begins ? 1 : 0));
        ASSERT_EQ(all.positions[i], document_begins ? 0 : all.positions[i - 1] + 1);
      }
    }
    ASSERT_EQ(inputs, expected);
  }
}

TEST(PackedExamplesTest, BadArgumentsAreErrors) {
  const TempFolder temp;
  const auto store = make_store(temp / "s", {{1, 2, 3}});
  const auto error = [&](std::optional<std::vector<uint64_t>> documents, int64_t length) {
    return std::string(PackedExamples::create(store, documents, length).status().message());
  };
  EXPECT_THAT(error(std::nullopt, 0), HasSubstr("sequence length is 0"));
  EXPECT_THAT(error(std::vector<uint64_t>{}, 4), HasSubstr("no document"));
  EXPECT_THAT(error(std::vector<uint64_t>{1}, 4), HasSubstr("document 1 is not in"));
}

TEST(PackedExamplesTest, ATokenOutsideTheVocabularyIsAnError) {
  const TempFolder temp;
  make_store(temp / "s", {{1, 2, 3}, {4}, {5, 6}});
  std::string tokens = temp.read("s/tokens.bin");
  for (size_t at = 0; at < tokens.size(); ++at) {
    std::string damaged = tokens;
    damaged[at] = '\xff';
    temp.write("s/tokens.bin", damaged);
    const auto store = TokenStore::open(temp / "s").value();
    const auto examples = PackedExamples::create(store, std::nullopt, 2).value();
    Batch batch = {.rows = 1, .length = 2};
    resize_arrays(&batch);
    Status status;
    for (int64_t i = 0; i < examples->size(); ++i)
      status.Update(examples->read(i, row_spans(&batch, 0)));
    std::vector<int32_t> read(static_cast<size_t>(store->tokens()));
    store->read(0, read);
    EXPECT_EQ(status.ok(), check_token_ids(read, store->manifest().vocab_size).ok()) << status;
    if (!status.ok()) {
      EXPECT_THAT(std::string(status.message()), HasSubstr("s/tokens.bin: token"));
    }
  }
}

TEST(PackedExamplesTest, ADamagedTableOfDocumentsIsAnErrorNotACrash) {
  const TempFolder temp;
  make_store(temp / "s", {{1, 2, 3}, {4}, {5, 6}});
  std::mt19937_64 random(5);
  int errors = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> starts = {0, 3, 4, 6};
    starts[1 + round % 2] = round % 3 == 0 ? random() : random() % 12;
    temp.write("s/documents.bin", {reinterpret_cast<const char*>(starts.data()), 32});
    const auto store = TokenStore::open(temp / "s").value();
    for (const bool choose : {false, true}) {
      std::optional<std::vector<uint64_t>> documents;
      if (choose) documents = std::vector<uint64_t>{0, 1, 2};
      const auto examples = PackedExamples::create(store, documents, 2);
      if (!examples.ok()) {
        ++errors;
        continue;
      }
      Batch batch = {.rows = 1, .length = 2};
      resize_arrays(&batch);
      for (int64_t i = 0; i < (*examples)->size(); ++i) {
        if (!(*examples)->read(i, row_spans(&batch, 0)).ok()) ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100);
}

}  // namespace
}  // namespace tessera
