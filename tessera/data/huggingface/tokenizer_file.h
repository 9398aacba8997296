#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/status.h"
#include "tessera/data/huggingface/added_tokens.h"
#include "tessera/data/huggingface/bpe.h"
#include "tessera/data/huggingface/characters.h"
#include "tessera/data/huggingface/pre_tokenizer.h"
#include "tessera/data/tokenizer.h"

namespace tessera::huggingface {

/// Not Json, which searches all keys for each new one: a vocabulary has 100,000s.
using FileJson = nlohmann::json;

/// What a tokenizer.json says, checked.
struct TokenizerFile {
  std::vector<NormalForm> normalizers;  ///< In order.
  std::vector<SplitStep> steps;         ///< In order; the last one is ByteLevel's.
  std::vector<std::string> tokens;      ///< By id, as the vocabulary writes them; "": no token.
  std::array<int32_t, 256> byte_ids;    ///< The token of each byte.
  std::vector<Bpe::Merge> merges;       ///< The first one first.
  /// Where merges are ignored: the words, as bytes, that become a token at once.
  std::vector<std::pair<std::string, int32_t>> whole_words;
  std::vector<AddedToken> added_tokens;
  SpecialTokens
      special_tokens;  ///< What kSpecialTokensKey says, or the post-processor puts around.
};

/// Reads a tokenizer of the byte-level BPE kind (GPT-2, Llama 3, Qwen and others). What is wrong is
/// INVALID_ARGUMENT, what is not supported UNIMPLEMENTED: each names it by its place in the file.
Result<TokenizerFile> parse_tokenizer_file(std::string_view text);

// The parts, each in a file of its own; they throw nlohmann's exceptions for keys of another type.

Result<std::vector<NormalForm>> parse_normalizer(const FileJson& normalizer);
Result<std::vector<SplitStep>> parse_pre_tokenizer(const FileJson& pre_tokenizer);
Status parse_model(const FileJson& model, TokenizerFile* file);
Status parse_added_tokens(const FileJson& added_tokens, TokenizerFile* file);
Result<SpecialTokens> parse_post_processor(const FileJson& post_processor);
Status check_decoder(const FileJson& decoder);

}  // namespace tessera::huggingface
