#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/base/status.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

inline constexpr std::string_view kTokensFile = "tokens.bin";
inline constexpr std::string_view kDocumentsFile = "documents.bin";
inline constexpr std::string_view kLossMaskFile = "loss_mask.bin";
/// The tokenizer's model, by its kind; byte tokens have none.
inline constexpr std::string_view kSentencePieceFile = "tokenizer.model";
inline constexpr std::string_view kHuggingFaceFile = "tokenizer.json";
inline constexpr std::string_view kManifestFile = "manifest.json";

struct StoredFile {
  int64_t size_bytes = 0;
  uint32_t crc32c = 0;

  bool operator==(const StoredFile&) const = default;
};

/// How the texts became tokens: what `data stat` prints beside the store's own counts.
struct BuildCounts {
  int64_t text_bytes = 0;
  int64_t invalid_utf8 = 0;
  std::map<std::string, int64_t> skipped;  // documents, by reason

  bool operator==(const BuildCounts&) const = default;
};

/// What manifest.json of a token store says: docs/format_token_store.md.
struct TokenStoreManifest {
  int64_t tokens = 0;
  int64_t documents = 0;
  int token_bytes = 0;  // 2 or 4: the width of a token in tokens.bin
  int32_t vocab_size = 0;
  SpecialTokens special_tokens;
  std::string tokenizer;  // Tokenizer::kind()
  bool adds_bos = false;  // whether each document begins with bos, ends with eos
  bool adds_eos = false;
  BuildCounts counts;
  std::map<std::string, StoredFile> files;  // by name; every file but the manifest

  bool operator==(const TokenStoreManifest&) const = default;

  std::string to_text() const;
};

/// The name of the file that holds a tokenizer's model.
std::string_view tokenizer_file(std::string_view kind);

/// Reads manifest.json's text; `source` is its path, for errors. DATA_LOSS when a key is missing or
/// of the wrong type, UNIMPLEMENTED for a later version of the format.
Result<TokenStoreManifest> parse_manifest(std::string_view text, std::string_view source);

}  // namespace tessera
