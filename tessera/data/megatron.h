#pragma once

#include <memory>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/token_store.h"
#include "tessera/data/tokenizer.h"

// Megatron-LM's indexed datasets, version 1: PREFIX.bin holds the tokens, PREFIX.idx says where
// sequences and documents begin (docs/data.md has the bytes).

namespace tessera {

/// Writes the store as PREFIX.bin and PREFIX.idx: each document is one sequence, bos and eos as
/// they stand in the store. ALREADY_EXISTS when there is one of the files and not `overwrite`. A
/// loss mask has no place there and is left out.
Status export_megatron(FileSystem& files, const TokenStore& store, const std::string& prefix,
                       bool overwrite);

struct MegatronImport {
  std::string prefix;
  std::string output;                          ///< The token store's folder.
  std::shared_ptr<const Tokenizer> tokenizer;  ///< That made the tokens.
  bool overwrite = false;
};

/// Makes a token store of PREFIX.bin and PREFIX.idx, of integers of any width. The sequences of a
/// document are put together, documents without tokens are skipped and counted. The store says that
/// documents begin with bos, end with eos, where all of them do. DATA_LOSS, naming the file, when
/// it is no such file or cut short; INVALID_ARGUMENT, naming the document, for a token that the
/// tokenizer does not have.
Result<TokenStoreManifest> import_megatron(FileSystem& files, const MegatronImport& options);

}  // namespace tessera
