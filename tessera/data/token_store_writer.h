#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/folder_lock.h"
#include "tessera/base/status.h"
#include "tessera/data/stored_file_writer.h"
#include "tessera/data/token_store_manifest.h"
#include "tessera/data/tokenizer.h"
#include "tessera/data/unfinished_store.h"

namespace tessera {

struct TokenStoreWriterOptions {
  bool add_bos = true;
  bool add_eos = true;
  /// Replace a store that is there; without it, that is ALREADY_EXISTS.
  bool overwrite = false;
  /// Store which tokens count in the loss: each document comes with its mask.
  bool loss_mask = false;
  /// What is written; not empty: save() is possible.
  std::string key;
  /// Go on with what a process that died has written with the same key, tokenizer and options.
  std::optional<UnfinishedStore> unfinished;
};

/// What stands against a store in `folder`, found before anything is made: one that is there and
/// not to be replaced, a folder that is none, a place that cannot be written to. Of a replacement
/// that was killed the old store is brought back first.
Status check_store_folder(FileSystem& files, const std::string& folder, bool overwrite);

/// Writes a token store: into a folder beside the wanted one, which finish() renames into place, so
/// that a store is there as a whole or not at all. Without finish() the destructor removes what was
/// written; what a process that dies has saved, another one can go on with. One thread at a time.
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
  /// Makes what was added so far survive the process, with a note of the caller's. Not before the
  /// options have a key.
  Status save(const std::string& note);
  /// INVALID_ARGUMENT when no document was added.
  Status finish(const BuildCounts& counts);

  int64_t tokens() const { return tokens_; }
  int64_t documents() const { return documents_; }
  /// Complete after finish().
  const TokenStoreManifest& manifest() const { return manifest_; }

 private:
  TokenStoreWriter(FileSystem& files, std::string folder,
                   std::shared_ptr<const Tokenizer> tokenizer,
                   const TokenStoreWriterOptions& options);
  Status open();
  Status lock(const std::string& folder);
  Status open_files();
  Status go_on(const UnfinishedStore& unfinished);
  void put(int32_t token);
  Status put_start();
  Status sync_files();
  Status write_file(std::string_view name, std::span<const std::byte> bytes);
  Status move_into_place();

  FileSystem& files_;
  const std::string folder_;
  const std::string partial_;  // the folder that is written
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const TokenStoreWriterOptions options_;
  TokenStoreManifest manifest_;
  std::map<std::string, std::unique_ptr<StoredFileWriter>> growing_;  // by name
  std::vector<std::byte> document_;                                   // tokens of the one added
  std::vector<std::byte> mask_;                                       // a byte for each of them
  int64_t tokens_ = 0;
  int64_t documents_ = 0;
  bool finished_ = false;
  std::optional<FolderLock> lock_;  // of partial_
};

}  // namespace tessera
