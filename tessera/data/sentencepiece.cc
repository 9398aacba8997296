#include "tessera/data/sentencepiece.h"

#include <utility>

#include "plugins/sentencepiece/module.h"
#include "tessera/data/module.h"

namespace tessera {
namespace {

Result<const TesseraSpApi*> load_api() {
  ASSIGN_OR_RETURN(void* address,
                   load_module("tessera_sentencepiece.so", "tessera_sentencepiece_api",
                               "SentencePiece does not load: is libsentencepiece0 installed?"));
  return reinterpret_cast<const TesseraSpApi* (*)()>(address)();
}

Result<const TesseraSpApi*> module_api() {
  static const Result<const TesseraSpApi*> api = load_api();
  return api;
}

TesseraSpText text_of(std::string_view text) { return {text.data(), text.size()}; }

void append_text(void* out, const char* data, size_t size) {
  static_cast<std::string*>(out)->append(data, size);
}

void append_ids(void* out, const int32_t* ids, size_t count) {
  auto* all = static_cast<std::vector<int32_t>*>(out);
  all->insert(all->end(), ids, ids + count);
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(const TesseraSpApi* api, TesseraSpModel* model, std::string serialized)
      : api_(api), model_(model), info_(api->info(model)), serialized_(std::move(serialized)) {}
  ~SentencePieceTokenizer() override { api_->unload(model_); }
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;

  int32_t vocab_size() const override { return info_.vocab_size; }
  SpecialTokens special_tokens() const override {
    return {.bos = info_.bos_id, .eos = info_.eos_id, .pad = info_.pad_id};
  }

  Status encode(std::string_view text, std::vector<int32_t>* ids) const override {
    if (api_->encode(model_, text_of(text), append_ids, ids)) return {};
    return internal_error("SentencePiece cannot encode a text of ", text.size(), " bytes");
  }

  Result<std::string> decode(std::span<const int32_t> ids) const override {
    RETURN_IF_ERROR(check_token_ids(ids, vocab_size()));
    std::string text;
    if (api_->decode(model_, ids.data(), ids.size(), append_text, &text)) return text;
    return internal_error("SentencePiece cannot decode ", ids.size(), " tokens");
  }

  std::string piece(int32_t id) const override {
    std::string text;
    api_->piece(model_, id, append_text, &text);
    return text;
  }

  std::string kind() const override { return "sentencepiece"; }
  std::string_view model() const override { return serialized_; }

 private:
  const TesseraSpApi* api_;
  TesseraSpModel* model_;
  TesseraSpModelInfo info_;
  std::string serialized_;
};

// SentencePiece's messages begin with "Internal: ./src/file.cc(12) [condition] ".
std::string_view without_source_line(std::string_view message) {
  const size_t end = message.rfind("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

int next_line(void* context, TesseraSpText* line) {
  const std::optional<std::string_view> next = (*static_cast<LineSource*>(context))();
  if (next.has_value()) *line = text_of(*next);
  return next.has_value();
}

}  // namespace

Result<std::string> train_sentencepiece(int32_t vocab_size, LineSource lines) {
  ASSIGN_OR_RETURN(const TesseraSpApi* api, module_api());
  const TesseraSpTraining arguments = {vocab_size, next_line, &lines};
  std::string model_or_error;
  if (api->train(&arguments, append_text, &model_or_error)) return model_or_error;
  return invalid_argument("training a SentencePiece vocabulary of ", vocab_size,
                          " failed: ", without_source_line(model_or_error));
}

Result<std::shared_ptr<const Tokenizer>> load_sentencepiece(std::string serialized) {
  ASSIGN_OR_RETURN(const TesseraSpApi* api, module_api());
  std::string error;
  TesseraSpModel* model = api->load(text_of(serialized), append_text, &error);
  if (model == nullptr) return invalid_argument("not a SentencePiece model: ", error);
  return std::make_shared<SentencePieceTokenizer>(api, model, std::move(serialized));
}

}  // namespace tessera
