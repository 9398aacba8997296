#include "tessera/data/huggingface/bpe.h"

#include <algorithm>
#include <bit>

namespace tessera::huggingface {
namespace {

// Words up to here search for the next merge one by one, which is quicker than any order of them.
constexpr size_t kShortWord = 48;

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

uint64_t hash(uint64_t pair) {
  pair *= 0x9E3779B97F4A7C15u;
  return pair ^ pair >> 32;
}

// The heap's top is the candidate that comes first.
struct Later {
  bool operator()(const Bpe::Space::Candidate& a, const Bpe::Space::Candidate& b) const {
    return a.order > b.order;
  }
};

}  // namespace

Bpe::Bpe(const std::array<int32_t, 256>& byte_ids, std::span<const Merge> merges)
    : byte_ids_(byte_ids),
      entries_(std::bit_ceil(2 * merges.size() + 2)),
      mask_(entries_.size() - 1) {
  for (size_t i = 0; i < merges.size(); ++i) {
    const uint64_t pair = pair_of(merges[i].left, merges[i].right);
    uint64_t slot = hash(pair) & mask_;
    while (entries_[slot].rank != kNone && entries_[slot].pair != pair) slot = (slot + 1) & mask_;
    entries_[slot] = {pair, static_cast<uint32_t>(i), merges[i].result};
  }
}

const Bpe::Entry& Bpe::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  uint64_t slot = hash(pair) & mask_;
  while (entries_[slot].rank != kNone && entries_[slot].pair != pair) slot = (slot + 1) & mask_;
  return entries_[slot];
}

void Bpe::encode(std::string_view word, Space& space, std::vector<int32_t>* ids) const {
  if (word.size() <= kShortWord) {
    encode_short(word, ids);
  } else {
    encode_long(word, space, ids);
  }
}

void Bpe::encode_short(std::string_view word, std::vector<int32_t>* ids) const {
  int32_t symbols[kShortWord];
  uint32_t ranks[kShortWord];  // of the merge of a symbol with the next one
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i) symbols[i] = byte_ids_[static_cast<unsigned char>(word[i])];
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = rank(symbols[i], symbols[i + 1]);
  while (count > 1) {
    const size_t at = std::min_element(ranks, ranks + count - 1) - ranks;
    if (ranks[at] == kNone) break;
    symbols[at] = find(symbols[at], symbols[at + 1]).result;
    --count;
    std::copy(symbols + at + 2, symbols + count + 1, symbols + at + 1);
    std::copy(ranks + at + 1, ranks + count, ranks + at);
    if (at > 0) ranks[at - 1] = rank(symbols[at - 1], symbols[at]);
    if (at + 1 < count) ranks[at] = rank(symbols[at], symbols[at + 1]);
  }
  ids->insert(ids->end(), symbols, symbols + count);
}

void Bpe::add_candidate(Space& space, int32_t at) const {
  if (at < 0 || space.symbols[at].next < 0) return;
  const int32_t left = space.symbols[at].id, right = space.symbols[space.symbols[at].next].id;
  const uint32_t found = rank(left, right);
  if (found == kNone) return;
  space.candidates.push_back(
      {static_cast<uint64_t>(found) << 32 | static_cast<uint32_t>(at), left, right});
  std::push_heap(space.candidates.begin(), space.candidates.end(), Later());
}

void Bpe::encode_long(std::string_view word, Space& space, std::vector<int32_t>* ids) const {
  auto& symbols = space.symbols;
  const auto count = static_cast<int32_t>(word.size());
  symbols.resize(count);
  for (int32_t i = 0; i < count; ++i) {
    symbols[i] = {byte_ids_[static_cast<unsigned char>(word[i])], i - 1,
                  i + 1 < count ? i + 1 : -1};
  }
  space.candidates.clear();
  for (int32_t i = 0; i < count; ++i) add_candidate(space, i);
  while (!space.candidates.empty()) {
    std::pop_heap(space.candidates.begin(), space.candidates.end(), Later());
    const Space::Candidate best = space.candidates.back();
    space.candidates.pop_back();
    const auto at = static_cast<int32_t>(best.order & UINT32_MAX);
    Space::Symbol& left = symbols[at];
    // One of the two may have gone into another token since: that has its own candidates.
    if (left.id != best.left || left.next < 0 || symbols[left.next].id != best.right) continue;
    Space::Symbol& right = symbols[left.next];
    left.id = find(best.left, best.right).result;
    right.id = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = at;
    add_candidate(space, left.previous);
    add_candidate(space, at);
  }
  for (int32_t at = 0; at >= 0; at = symbols[at].next) ids->push_back(symbols[at].id);
}

}  // namespace tessera::huggingface
