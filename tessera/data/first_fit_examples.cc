#include "tessera/data/first_fit_examples.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tessera {
namespace {

/// Rows by how much room they have: a tree of the most room below each node. Rows that were not
/// begun have all of theirs.
class Rooms {
 public:
  Rooms(size_t rows, uint32_t length)
      : leaves_(std::bit_ceil(std::max<size_t>(rows, 1))), most_(2 * leaves_, length) {}

  /// The first row with room for `count`, which it then has less of.
  size_t take_first(uint32_t count) {
    size_t node = 1;
    while (node < leaves_) node = 2 * node + (most_[2 * node] >= count ? 0 : 1);
    most_[node] -= count;
    const size_t row = node - leaves_;
    while ((node /= 2) > 0) most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    return row;
  }

 private:
  const size_t leaves_;
  std::vector<uint32_t> most_;
};

}  // namespace

FirstFitExamples::FirstFitExamples(const ExampleChoice& choice)
    : store_(choice.store),
      length_(choice.length),
      masked_(choice.masked),
      pad_token_(std::max(0, store_->manifest().special_tokens.pad)),
      fingerprint_(choice.fingerprint("first_fit")) {}

Result<std::shared_ptr<const FirstFitExamples>> FirstFitExamples::create(
    std::shared_ptr<const TokenStore> store, std::optional<std::vector<uint64_t>> documents,
    int64_t length, bool masked) {
  ExampleChoice choice = {std::move(store), std::move(documents), length, masked};
  RETURN_IF_ERROR(choice.check());
  std::shared_ptr<FirstFitExamples> examples(new FirstFitExamples(choice));
  if (!choice.documents.has_value()) {
    choice.documents.emplace(static_cast<size_t>(choice.store->documents()));
    std::iota(choice.documents->begin(), choice.documents->end(), uint64_t{0});
    RETURN_IF_ERROR(choice.check());
  }
  examples->pack(*choice.documents);
  return std::shared_ptr<const FirstFitExamples>(std::move(examples));
}

void FirstFitExamples::pack(const std::vector<uint64_t>& documents) {
  const std::span<const uint64_t> starts = store_->document_starts();
  std::vector<DocumentPiece> pieces;
  for (const uint64_t document : documents) {
    const uint64_t begin = starts[document], end = starts[document + 1];
    for (uint64_t at = begin; at < end;) {
      const uint64_t count = std::min<uint64_t>(end - at, static_cast<uint64_t>(length_));
      pieces.push_back({at, static_cast<uint32_t>(count), at + count == end});
      at += count;
    }
    tokens_ += static_cast<int64_t>(end - begin);
  }
  place(pieces);
}

void FirstFitExamples::place(const std::vector<DocumentPiece>& pieces) {
  Rooms rooms(pieces.size(), static_cast<uint32_t>(length_));
  std::vector<size_t> rows;
  size_t count = 0;
  for (const DocumentPiece& piece : pieces) {
    rows.push_back(rooms.take_first(piece.count));
    count = std::max(count, rows.back() + 1);
  }
  // Sorted by row, in the order in which they came: by counting.
  begins_.assign(count + 1, 0);
  for (const size_t row : rows) ++begins_[row + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<uint64_t> next(begins_.begin(), begins_.end() - 1);
  pieces_.resize(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) pieces_[next[rows[i]]++] = pieces[i];
}

int64_t FirstFitExamples::tokens_in(int64_t index) const {
  int64_t tokens = 0;
  const auto row = static_cast<size_t>(index);
  for (uint64_t i = begins_[row]; i < begins_[row + 1]; ++i) tokens += pieces_[i].count;
  return tokens;
}

Status FirstFitExamples::read(int64_t index, const RowSpans& row) const {
  const auto at = static_cast<size_t>(index);
  size_t done = 0;
  int32_t segment_id = 0;
  for (uint64_t i = begins_[at]; i < begins_[at + 1]; ++i) {
    const DocumentPiece& piece = pieces_[i];
    fill_piece(*store_, piece, masked_, pad_token_, ++segment_id, part_of(row, done, piece.count));
    done += piece.count;
  }
  fill_with_padding(part_of(row, done, static_cast<size_t>(length_) - done), pad_token_);
  return check_row(*store_, row);
}

}  // namespace tessera
