#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/data/mapped_file.h"
#include "tessera/data/token_store_manifest.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// The tokens of a corpus, mapped into memory: documents back to back. Read only, so any thread may
/// call anything. Format: docs/format_token_store.md.
class TokenStore {
 public:
  /// Maps the store in `folder`. NOT_FOUND when there is none. DATA_LOSS, naming the file with the
  /// bytes expected and found, when a file is missing, cut short or too long. Reads no token:
  /// damage inside the files is found by verify().
  static Result<std::shared_ptr<const TokenStore>> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const TokenStoreManifest& manifest() const { return manifest_; }
  int64_t tokens() const { return manifest_.tokens; }
  int64_t documents() const { return manifest_.documents; }

  /// Where each document begins, in tokens, and after the last one tokens(): documents() + 1
  /// numbers.
  std::span<const uint64_t> document_starts() const { return starts_; }
  /// Copies out.size() tokens from `begin` on; all must be below tokens().
  void read(int64_t begin, std::span<int32_t> out) const;
  /// Bytes of tokens that read() took from the store so far.
  int64_t bytes_read() const { return bytes_read_; }
  /// Whether it says which tokens count in the loss: a store of conversations.
  bool has_loss_mask() const { return !loss_mask_.empty(); }
  /// 1 where a token counts, else 0: one a token. Empty unless has_loss_mask().
  std::span<const uint8_t> loss_mask() const { return loss_mask_; }
  /// The tokens of one document, bos and eos with them. OUT_OF_RANGE when there is no such one.
  Result<std::vector<int32_t>> document(int64_t index) const;

  /// The tokenizer that made it.
  Result<std::shared_ptr<const Tokenizer>> tokenizer() const;

  /// Reads everything. DATA_LOSS, naming the file, when a checksum differs, documents are not in
  /// order, or a token is outside the vocabulary.
  Status verify() const;

  /// Differs when tokens or documents differ: a run that resumes compares it.
  std::string fingerprint() const;

 private:
  TokenStore() = default;
  Status map_file(std::string_view name, int64_t expected_bytes, MappedFile* file) const;
  Status verify_checksum(std::string_view name, std::span<const std::byte> bytes) const;
  Status verify_documents() const;
  Status verify_tokens() const;

  std::string folder_;
  TokenStoreManifest manifest_;
  MappedFile tokens_;
  MappedFile documents_;
  std::span<const uint64_t> starts_;  // in documents_
  MappedFile loss_mask_file_;
  std::span<const uint8_t> loss_mask_;
  mutable std::atomic<int64_t> bytes_read_ = 0;
};

}  // namespace tessera
