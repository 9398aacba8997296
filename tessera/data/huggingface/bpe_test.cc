#include "tessera/data/huggingface/bpe.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "tessera/data/huggingface/word_cache.h"
#include "tessera/data/permutation.h"

namespace tessera::huggingface {
namespace {

using testing::ElementsAre;

std::array<int32_t, 256> bytes() {
  std::array<int32_t, 256> ids;
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Merges over the letters a to d, made at random; results are numbered from 256.
std::vector<Bpe::Merge> random_merges(uint64_t seed) {
  std::vector<int32_t> known = {'a', 'b', 'c', 'd'};
  std::vector<Bpe::Merge> merges;
  std::map<std::pair<int32_t, int32_t>, bool> seen;
  for (uint64_t i = 0; merges.size() < 60; ++i) {
    const uint64_t random = mix64(seed * 1000 + i);
    const int32_t left = known[random % known.size()];
    const int32_t right = known[(random >> 32) % known.size()];
    if (seen[{left, right}]) continue;
    seen[{left, right}] = true;
    const auto result = static_cast<int32_t>(256 + merges.size());
    merges.push_back({left, right, result});
    known.push_back(result);
  }
  return merges;
}

// By the definition: the first merge of the list that applies, at its leftmost place, until none.
std::vector<int32_t> by_definition(std::string_view word, const std::vector<Bpe::Merge>& merges) {
  std::vector<int32_t> ids(word.begin(), word.end());
  while (true) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) {
          best = rank;
          at = i;
        }
      }
    }
    if (best == merges.size()) return ids;
    ids[at] = merges[best].result;
    ids.erase(ids.begin() + at + 1);
  }
}

TEST(BpeTest, WordsOfAnyLengthMergeAsTheDefinitionSays) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<Bpe::Merge> merges = random_merges(seed);
    const Bpe bpe(bytes(), merges);
    Bpe::Space space;
    for (const size_t length : {1, 2, 3, 5, 8, 30, 47, 48, 49, 50, 90, 200}) {
      std::string word;
      for (size_t i = 0; i < length; ++i) word += "aabbcd"[mix64(seed * 7919 + word.size()) % 6];
      std::vector<int32_t> ids;
      bpe.encode(word, space, &ids);
      ASSERT_EQ(ids, by_definition(word, merges)) << word;
    }
  }
}

TEST(BpeTest, OfTwoMergesOfAPairTheLaterCounts) {
  const std::vector<Bpe::Merge> merges = {{'a', 'b', 300}, {'b', 'c', 301}, {'a', 'b', 300}};
  Bpe::Space space;
  std::vector<int32_t> ids;
  Bpe(bytes(), merges).encode("abc", space, &ids);
  EXPECT_THAT(ids, ElementsAre('a', 301));
}

TEST(WordCacheTest, GivesWhatWasPutAndNothingElse) {
  WordCache cache;
  const std::vector<int32_t> few = {1, 2, 3}, many(WordCache::kMostTokens + 1, 7);
  int found = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string word = std::to_string(mix64(i)).substr(0, 1 + i % 20);
    EXPECT_TRUE(cache.find(word).empty() || cache.find(word).size() <= 3);
    const std::vector<int32_t> ids = {i, static_cast<int32_t>(word.size())};
    cache.put(word, ids);
    EXPECT_TRUE(std::ranges::equal(cache.find(word), ids));
  }
  for (int i = 0; i < 20'000; ++i) {  // words have lost their places to others, but never changed
    const std::string word = std::to_string(mix64(i)).substr(0, 1 + i % 20);
    const auto ids = cache.find(word);
    if (ids.empty()) continue;
    ++found;
    EXPECT_EQ(ids[1], static_cast<int32_t>(word.size()));
    EXPECT_EQ(std::to_string(mix64(ids[0])).substr(0, 1 + ids[0] % 20), word);
  }
  EXPECT_GT(found, 5000);
  cache.put("word", few);
  cache.put("word", many);
  EXPECT_TRUE(std::ranges::equal(cache.find("word"), few)) << "what is too much is not kept";
}

}  // namespace
}  // namespace tessera::huggingface
