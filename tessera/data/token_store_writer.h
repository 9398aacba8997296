#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/token_store_manifest.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

struct TokenStoreWriterOptions {
  bool add_bos = true;
  bool add_eos = true;
  /// Replace a store that is there; without it, that is ALREADY_EXISTS.
  bool overwrite = false;
  /// Store which tokens count in the loss: each document comes with its mask.
  bool loss_mask = false;
};

/// Writes a token store: into a folder beside the wanted one, which finish() renames into place, so
/// that a store is there as a whole or not at all. Without finish() the destructor removes what was
/// written. One thread at a time.
class TokenStoreWriter {
 public:
  /// Borrows `files`. `folder` must lie on a local disk, since readers map it.
  static Result<std::unique_ptr<TokenStoreWriter>> create(
      FileSystem& files, const std::string& folder, std::shared_ptr<const Tokenizer> tokenizer,
      const TokenStoreWriterOptions& options);
  ~TokenStoreWriter();

  /// Appends one document, with bos and eos as the options say. A document without tokens is
  /// INVALID_ARGUMENT. With options.loss_mask, `mask` has 0 or 1 for each token; bos counts as 0,
  /// eos as the last token.
  Status add_document(std::span<const int32_t> tokens, std::span<const uint8_t> mask = {});
  /// INVALID_ARGUMENT when no document was added.
  Status finish(const BuildCounts& counts);

  int64_t tokens() const { return tokens_; }
  int64_t documents() const { return static_cast<int64_t>(starts_.size()) - 1; }
  /// Complete after finish().
  const TokenStoreManifest& manifest() const { return manifest_; }

 private:
  TokenStoreWriter(FileSystem& files, std::string folder,
                   std::shared_ptr<const Tokenizer> tokenizer,
                   const TokenStoreWriterOptions& options);
  Status open();
  void put(int32_t token);
  Status flush();
  Status write_file(std::string_view name, std::span<const std::byte> bytes);
  Status move_into_place();

  FileSystem& files_;
  const std::string folder_;
  const std::string partial_;  // the folder that is written
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const TokenStoreWriterOptions options_;
  TokenStoreManifest manifest_;
  std::unique_ptr<WritableFile> tokens_file_;
  std::vector<std::byte> buffer_;  // tokens not yet written
  StoredFile written_;             // of tokens.bin
  std::vector<std::byte> mask_;    // a byte a token
  std::vector<uint64_t> starts_ = {0};
  int64_t tokens_ = 0;
  bool finished_ = false;
};

}  // namespace tessera
