#include "tessera/data/row_pieces.h"

#include <algorithm>

namespace tessera {
namespace {

// A target counts where its own token, the one after the input, does. The last of a document has
// none, and a weight of 0 already.
void apply_mask(std::span<const uint8_t> counts, uint64_t begin, const RowSpans& row) {
  for (size_t i = 0; i < row.mask.size(); ++i) {
    if (row.mask[i] != 0 && counts[begin + i + 1] == 0) row.mask[i] = 0;
  }
}

}  // namespace

RowSpans part_of(const RowSpans& row, size_t begin, size_t count) {
  return {row.tokens.subspan(begin, count), row.targets.subspan(begin, count),
          row.mask.subspan(begin, count), row.segment_ids.subspan(begin, count),
          row.positions.subspan(begin, count)};
}

void fill_piece(const TokenStore& store, const DocumentPiece& piece, bool masked, int32_t pad_token,
                int32_t segment_id, const RowSpans& row) {
  const size_t count = piece.count;
  store.read(static_cast<int64_t>(piece.from), row.tokens);
  std::copy(row.tokens.begin() + 1, row.tokens.end(), row.targets.begin());
  std::fill(row.mask.begin(), row.mask.end(), 1.0f);
  if (piece.ends) {
    row.targets[count - 1] = pad_token;
    row.mask[count - 1] = 0.0f;
  } else {
    store.read(static_cast<int64_t>(piece.from + count), row.targets.subspan(count - 1));
  }
  std::fill(row.segment_ids.begin(), row.segment_ids.end(), segment_id);
  for (size_t i = 0; i < count; ++i) row.positions[i] = static_cast<int32_t>(i);
  if (masked) apply_mask(store.loss_mask(), piece.from, row);
}

Status check_row(const TokenStore& store, const RowSpans& row) {
  const auto vocabulary = static_cast<uint32_t>(store.manifest().vocab_size);
  uint32_t largest = 0;
  for (const std::span<int32_t> tokens : {row.tokens, row.targets}) {
    for (const int32_t token : tokens) largest = std::max(largest, static_cast<uint32_t>(token));
  }
  if (largest < vocabulary) return {};
  return data_loss(store.folder(), "/", kTokensFile, ": token ", static_cast<int32_t>(largest),
                   " is outside the vocabulary of ", vocabulary,
                   ": damaged, as `tessera data stat --verify` tells; copy the store again, or "
                   "build it again");
}

}  // namespace tessera
