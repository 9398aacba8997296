#include "tessera/data/packed_examples.h"

#include <algorithm>
#include <utility>

#include "tessera/data/row_pieces.h"

namespace tessera {

Result<std::shared_ptr<const PackedExamples>> PackedExamples::create(
    std::shared_ptr<const TokenStore> store, std::optional<std::vector<uint64_t>> documents,
    int64_t length, bool masked) {
  ExampleChoice choice = {std::move(store), std::move(documents), length, masked};
  RETURN_IF_ERROR(choice.check());
  return std::shared_ptr<const PackedExamples>(new PackedExamples(std::move(choice)));
}

PackedExamples::PackedExamples(ExampleChoice choice)
    : store_(choice.store),
      length_(choice.length),
      masked_(choice.masked),
      pad_token_(std::max(0, store_->manifest().special_tokens.pad)),
      fingerprint_(choice.fingerprint()),
      starts_(store_->document_starts()) {
  if (!choice.documents.has_value()) return;
  chosen_ = *std::move(choice.documents);
  chosen_starts_.reserve(chosen_.size() + 1);
  chosen_starts_.push_back(0);
  for (const uint64_t document : chosen_)
    chosen_starts_.push_back(chosen_starts_.back() + starts_[document + 1] - starts_[document]);
  starts_ = chosen_starts_;
}

uint64_t PackedExamples::store_begin(size_t document) const {
  return store_->document_starts()[chosen_.empty() ? document : chosen_[document]];
}

int64_t PackedExamples::tokens_in(int64_t index) const {
  return std::min(length_, tokens() - index * length_);
}

Status PackedExamples::read(int64_t index, const RowSpans& row) const {
  const uint64_t begin = index * length_;
  const size_t count = tokens_in(index);
  size_t document = std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin() - 1;
  int32_t segment_id = 0;
  for (size_t done = 0; done < count; ++document) {
    const uint64_t at = begin + done;  // among the chosen documents' tokens
    const uint64_t end = starts_[document + 1];
    const uint64_t from = store_begin(document) + at - starts_[document];  // among the store's
    // In a damaged store the table of documents may go back.
    if (end < at || end > starts_.back()) return damaged_documents(*store_, document);
    if (end == at) continue;
    const size_t here = std::min<uint64_t>(count - done, end - at);
    const DocumentPiece piece = {from, static_cast<uint32_t>(here), at + here == end};
    fill_piece(*store_, piece, masked_, pad_token_, ++segment_id, part_of(row, done, here));
    done += here;
  }
  fill_with_padding(part_of(row, count, length_ - count), pad_token_);
  return check_row(*store_, row);
}

}  // namespace tessera
