#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// The ids of tokens that stand for no text; -1 where a tokenizer has no such token.
struct SpecialTokens {
  int32_t bos = -1;
  int32_t eos = -1;
  int32_t pad = -1;

  bool operator==(const SpecialTokens&) const = default;
};

/// Turns text into token ids and back. Immutable: any thread may call any function at any time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Every id is in [0, vocab_size).
  virtual int32_t vocab_size() const = 0;
  virtual SpecialTokens special_tokens() const = 0;
  /// Appends the ids of `text`, without bos and eos.
  virtual Status encode(std::string_view text, std::vector<int32_t>* ids) const = 0;
  /// The text of `ids`; special tokens give none. An id outside the vocabulary is INVALID_ARGUMENT.
  virtual Result<std::string> decode(std::span<const int32_t> ids) const = 0;
  /// How a token is shown to people: never empty, on one line.
  virtual std::string piece(int32_t id) const = 0;

  /// What make_tokenizer() needs to make the same tokenizer again.
  virtual std::string kind() const = 0;
  virtual std::string_view model() const = 0;
};

/// `kind` is "bytes" (`model` is empty then), "sentencepiece" (`model` is the serialized model) or
/// "huggingface" (`model` is the text of a tokenizer.json, see huggingface/huggingface.h).
Result<std::shared_ptr<const Tokenizer>> make_tokenizer(std::string_view kind, std::string model);

/// The error for a kind that make_tokenizer() does not know.
Status unknown_tokenizer(std::string_view kind);

/// One token a byte: ids 0 to 255 are the bytes, then bos = 256, eos = 257, pad = 258.
std::shared_ptr<const Tokenizer> byte_tokenizer();

/// INVALID_ARGUMENT unless every id is in [0, vocab_size); names the first that is not.
Status check_token_ids(std::span<const int32_t> ids, int32_t vocab_size);

}  // namespace tessera
