#include "tessera/data/packed_examples.h"

#include <algorithm>
#include <utility>

#include "tessera/base/crc32c.h"
#include "tessera/data/row_pieces.h"

namespace tessera {
Result<std::shared_ptr<const PackedExamples>> PackedExamples::create(
    std::shared_ptr<const TokenStore> store, std::optional<std::vector<uint64_t>> documents,
    int64_t length, bool masked) {
  if (length < 1)
    return invalid_argument("the sequence length is ", length, ", must be at least 1");
  std::shared_ptr<PackedExamples> examples(new PackedExamples(std::move(store), length));
  if (masked) RETURN_IF_ERROR(examples->count_masked_only());
  if (documents.has_value()) RETURN_IF_ERROR(examples->choose(*std::move(documents)));
  return std::shared_ptr<const PackedExamples>(std::move(examples));
}

PackedExamples::PackedExamples(std::shared_ptr<const TokenStore> store, int64_t length)
    : store_(std::move(store)),
      length_(length),
      pad_token_(std::max(0, store_->manifest().special_tokens.pad)),
      fingerprint_(str_cat(store_->fingerprint(), "/", length)),
      starts_(store_->document_starts()) {}

Status PackedExamples::count_masked_only() {
  if (!store_->has_loss_mask()) {
    return failed_precondition(
        store_->folder(),
        " does not say which tokens to learn: build it from conversations (JSON "
        "lines with \"messages\") with task sft");
  }
  masked_ = true;
  fingerprint_ += "/masked";
  return {};
}

Status PackedExamples::choose(std::vector<uint64_t> documents) {
  if (documents.empty()) return invalid_argument("no document is chosen of ", store_->folder());
  const std::span<const uint64_t> starts = store_->document_starts();
  chosen_starts_.reserve(documents.size() + 1);
  chosen_starts_.push_back(0);
  for (const uint64_t document : documents) {
    if (document >= static_cast<uint64_t>(store_->documents())) {
      return absl::OutOfRangeError(str_cat("document ", document, " is not in ", store_->folder()));
    }
    const uint64_t begin = starts[document];
    const uint64_t end = starts[document + 1];
    if (begin > end || end > static_cast<uint64_t>(store_->tokens())) return damaged(document);
    chosen_starts_.push_back(chosen_starts_.back() + end - begin);
  }
  str_append(&fingerprint_, "/", crc32c(std::as_bytes(std::span(documents))));
  chosen_ = std::move(documents);
  starts_ = chosen_starts_;
  return {};
}

Status PackedExamples::damaged(uint64_t document) const {
  return data_loss(store_->folder(), "/", kDocumentsFile, ": damaged near document ", document,
                   "; copy the store again, or build it again");
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
    if (end < at || end > starts_.back()) return damaged(document);
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
