#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::huggingface {

/// Byte pair encoding: a word begins as its bytes; as long as two neighbours have a merge, those
/// whose merge comes first in the list become one token, the leftmost first. Immutable.
class Bpe {
 public:
  struct Merge {
    int32_t left;
    int32_t right;
    int32_t result;
  };
  /// What a call uses, kept for the next one.
  struct Space {
    struct Symbol {
      int32_t id;
      int32_t previous;
      int32_t next;
    };
    struct Candidate {
      uint64_t order;  // the merge's place in the list, then the symbol's
      int32_t left, right;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> candidates;
  };

  /// `byte_ids`: the token of each byte. Of two merges of the same pair the later one counts.
  Bpe(const std::array<int32_t, 256>& byte_ids, std::span<const Merge> merges);

  /// Appends the tokens of a word.
  void encode(std::string_view word, Space& space, std::vector<int32_t>* ids) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;  // there is no such merge
  struct Entry {
    uint64_t pair;
    uint32_t rank = kNone;
    int32_t result;
  };

  const Entry& find(int32_t left, int32_t right) const;
  uint32_t rank(int32_t left, int32_t right) const { return find(left, right).rank; }
  void encode_short(std::string_view word, std::vector<int32_t>* ids) const;
  void encode_long(std::string_view word, Space& space, std::vector<int32_t>* ids) const;
  void add_candidate(Space& space, int32_t at) const;

  std::array<int32_t, 256> byte_ids_;
  std::vector<Entry> entries_;  // a hash table with linear probing, at most half full
  uint64_t mask_;
};

}  // namespace tessera::huggingface
