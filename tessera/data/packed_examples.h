#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/batch.h"
#include "tessera/data/example_choice.h"
#include "tessera/data/token_store.h"

namespace tessera {

/// Examples of one length, numbered from 0, each of which can be made at any time, in any order.
/// Immutable: any thread may call anything.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  virtual int64_t size() const = 0;
  /// Tokens a row.
  virtual int64_t length() const = 0;
  /// What stands where there is no token or no target.
  virtual int32_t pad_token() const = 0;
  /// How many tokens of example `index` are no padding.
  virtual int64_t tokens_in(int64_t index) const = 0;
  /// Of all examples together.
  virtual int64_t tokens() const = 0;
  /// Whether only the last example has padding.
  virtual bool only_last_is_short() const = 0;
  /// Writes example `index`, which must be in [0, size()), into spans of length(). DATA_LOSS when
  /// the store is damaged.
  virtual Status read(int64_t index, const RowSpans& row) const = 0;
  /// Differs when the examples differ: a position in another source's sequence means nothing.
  virtual std::string fingerprint() const = 0;
};

/// Documents of a token store, back to back, cut into windows of `length` tokens.
///
/// Each token of those documents is an input of exactly one example. A target is the next token of
/// the same document, read beyond the window's end where need be; a document's last token has none.
/// The last window may be short: it is filled up with padding, so nothing is dropped.
class PackedExamples final : public ExampleSource {
 public:
  /// See ExampleChoice, whose errors it has.
  static Result<std::shared_ptr<const PackedExamples>> create(
      std::shared_ptr<const TokenStore> store, std::optional<std::vector<uint64_t>> documents,
      int64_t length, bool masked = false);

  int64_t size() const override { return (tokens() + length_ - 1) / length_; }
  int64_t length() const override { return length_; }
  int32_t pad_token() const override { return pad_token_; }
  int64_t tokens_in(int64_t index) const override;
  Status read(int64_t index, const RowSpans& row) const override;
  std::string fingerprint() const override { return fingerprint_; }

  /// Of the documents chosen.
  int64_t tokens() const override { return static_cast<int64_t>(starts_.back()); }
  bool only_last_is_short() const override { return true; }
  int64_t documents() const { return static_cast<int64_t>(starts_.size()) - 1; }

 private:
  explicit PackedExamples(ExampleChoice choice);
  uint64_t store_begin(size_t document) const;

  std::shared_ptr<const TokenStore> store_;
  int64_t length_;
  bool masked_;
  int32_t pad_token_;
  std::string fingerprint_;
  // Where each chosen document begins among the chosen ones' tokens; the store's own table, or a
  // view of chosen_starts_.
  std::span<const uint64_t> starts_;
  std::vector<uint64_t> chosen_starts_;
  std::vector<uint64_t> chosen_;  // empty: all
};

}  // namespace tessera
