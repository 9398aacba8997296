#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/status.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// The tokens of a Hugging Face tokenizer that stand for no text, as written in its vocabulary; ""
/// where nothing is said of one.
struct SpecialTokenNames {
  std::string bos;
  std::string eos;
  std::string pad;

  bool operator==(const SpecialTokenNames&) const = default;
};

/// A tokenizer from the text of a `tokenizer.json`: byte-level BPE, as GPT-2, Llama 3, Qwen and
/// others have. Gives the ids that the `tokenizers` library gives without adding special tokens.
/// What the file asks for and is not supported is an error that names it. bos and eos are what the
/// file's post-processor puts around a text, unless name_special_tokens() said otherwise.
Result<std::shared_ptr<const Tokenizer>> load_huggingface(std::string model);

/// `tokenizer_json` with the special tokens written into it, so that it needs no file beside it;
/// other programs read it as before. Names that are empty are taken from `config_json`, the text of
/// the `tokenizer_config.json` beside it ("": there is none), else left as they were.
/// INVALID_ARGUMENT for a name that is no token.
Result<std::string> name_special_tokens(std::string tokenizer_json, std::string_view config_json,
                                        const SpecialTokenNames& names);

}  // namespace tessera
