#include "tessera/data/tokenizer.h"

#include <array>
#include <utility>

#include "tessera/data/huggingface/huggingface.h"
#include "tessera/data/sentencepiece.h"

namespace tessera {
namespace {

constexpr int32_t kBytes = 256;
constexpr SpecialTokens kByteSpecials = {.bos = kBytes, .eos = kBytes + 1, .pad = kBytes + 2};

class ByteTokenizer final : public Tokenizer {
 public:
  int32_t vocab_size() const override { return kBytes + 3; }
  SpecialTokens special_tokens() const override { return kByteSpecials; }

  Status encode(std::string_view text, std::vector<int32_t>* ids) const override {
    ids->reserve(ids->size() + text.size());
    for (const char c : text) ids->push_back(static_cast<unsigned char>(c));
    return {};
  }

  Result<std::string> decode(std::span<const int32_t> ids) const override {
    RETURN_IF_ERROR(check_token_ids(ids, vocab_size()));
    std::string text;
    for (const int32_t id : ids) {
      if (id < kBytes) text.push_back(static_cast<char>(id));
    }
    return text;
  }

  std::string piece(int32_t id) const override {
    if (id == kByteSpecials.bos) return "<bos>";
    if (id == kByteSpecials.eos) return "<eos>";
    if (id == kByteSpecials.pad) return "<pad>";
    if (id > ' ' && id < 0x7f) return std::string(1, static_cast<char>(id));
    constexpr std::string_view kHex = "0123456789ABCDEF";
    return {'<', '0', 'x', kHex[id / 16 % 16], kHex[id % 16], '>'};
  }

  std::string kind() const override { return "bytes"; }
  std::string_view model() const override { return {}; }
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer() { return std::make_shared<ByteTokenizer>(); }

Status unknown_tokenizer(std::string_view kind) {
  return invalid_argument("tokenizer \"", kind,
                          "\" is not known: use \"sentencepiece\", \"huggingface\" or \"bytes\"");
}

Result<std::shared_ptr<const Tokenizer>> make_tokenizer(std::string_view kind, std::string model) {
  if (kind == "bytes") return byte_tokenizer();
  if (kind == "sentencepiece") return load_sentencepiece(std::move(model));
  if (kind == "huggingface") return load_huggingface(std::move(model));
  return unknown_tokenizer(kind);
}

Status check_token_ids(std::span<const int32_t> ids, int32_t vocab_size) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      return invalid_argument("token ", i, " is ", ids[i], ", but the vocabulary has ids 0 to ",
                              vocab_size - 1);
    }
  }
  return {};
}

}  // namespace tessera
