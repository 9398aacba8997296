#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::huggingface {

/// Remembers the tokens of words. A word has one place, which the last one of several keeps; it
/// never grows. One thread at a time.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 30;  ///< In bytes; others are not kept.
  static constexpr size_t kMostTokens = 8;

  /// The tokens of `word`, at most kLongestWord bytes long; empty where it is not there. Valid
  /// until the next put().
  std::span<const int32_t> find(std::string_view word) const {
    const Entry& entry = entries_[slot(word)];
    if (entry.size != word.size() || std::memcmp(entry.word, word.data(), word.size()) != 0)
      return {};
    return {entry.ids, entry.count};
  }

  /// Keeps them, unless there are more than kMostTokens.
  void put(std::string_view word, std::span<const int32_t> ids) {
    if (ids.size() > kMostTokens) return;
    Entry& entry = entries_[slot(word)];
    entry.size = static_cast<uint8_t>(word.size());
    entry.count = static_cast<uint8_t>(ids.size());
    std::memcpy(entry.word, word.data(), word.size());
    std::memcpy(entry.ids, ids.data(), ids.size_bytes());
  }

 private:
  static constexpr int kBits = 15;  // 2 MiB: what a core's second cache holds

  struct alignas(64) Entry {
    uint8_t size = 0;
    uint8_t count = 0;
    char word[kLongestWord];
    int32_t ids[kMostTokens];
  };
  static_assert(sizeof(Entry) == 64);

  static uint64_t load(const char* from, size_t count) {
    uint64_t value = 0;
    std::memcpy(&value, from, count);
    return value;
  }

  static size_t slot(std::string_view word) {
    uint64_t hash = word.size();
    const char* at = word.data();
    size_t left = word.size();
    for (; left > 8; at += 8, left -= 8) hash = (hash ^ load(at, 8)) * 0x9E3779B97F4A7C15u;
    // The rest without a loop over its bytes; pieces may overlap.
    uint64_t rest;
    if (left >= 4) {
      rest = load(at, 4) << 32 | load(at + left - 4, 4);
    } else {
      rest = load(at, 1) << 16 | load(at + left / 2, 1) << 8 | load(at + left - 1, 1);
    }
    hash = (hash ^ hash >> 29 ^ rest) * 0xD6E8FEB86659FD93u;
    return hash >> (64 - kBits);
  }

  std::vector<Entry> entries_ = std::vector<Entry>(size_t{1} << kBits);
};

}  // namespace tessera::huggingface
