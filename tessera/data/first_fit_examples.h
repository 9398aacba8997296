#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/data/packed_examples.h"
#include "tessera/data/row_pieces.h"

namespace tessera {

/// Documents of a token store, whole, put together to rows of `length` tokens: each goes into the
/// first row that has room for it, else begins a new one. Documents longer than a row are cut into
/// rows, and what is left of them is put like a document. What stays free is padding.
///
/// As with PackedExamples each token is an input of exactly one example, and a target is the next
/// token of the same document. Which row a document is in follows from the store and the length
/// alone. Takes 16 bytes of memory a document.
class FirstFitExamples final : public ExampleSource {
 public:
  /// As PackedExamples::create().
  static Result<std::shared_ptr<const FirstFitExamples>> create(
      std::shared_ptr<const TokenStore> store, std::optional<std::vector<uint64_t>> documents,
      int64_t length, bool masked = false);

  int64_t size() const override { return static_cast<int64_t>(begins_.size()) - 1; }
  int64_t length() const override { return length_; }
  int32_t pad_token() const override { return pad_token_; }
  int64_t tokens_in(int64_t index) const override;
  int64_t tokens() const override { return tokens_; }
  bool only_last_is_short() const override { return false; }
  Status read(int64_t index, const RowSpans& row) const override;
  std::string fingerprint() const override { return fingerprint_; }

 private:
  explicit FirstFitExamples(const ExampleChoice& choice);
  void pack(const std::vector<uint64_t>& documents);
  void place(const std::vector<DocumentPiece>& pieces);

  const std::shared_ptr<const TokenStore> store_;
  const int64_t length_;
  const bool masked_;
  const int32_t pad_token_;
  std::string fingerprint_;
  int64_t tokens_ = 0;
  std::vector<DocumentPiece> pieces_;  // row after row
  std::vector<uint64_t> begins_;       // of each row in pieces_, and the end
};

}  // namespace tessera
