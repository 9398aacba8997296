#pragma once

#include "tessera/data/huggingface/tokenizer_file.h"

namespace tessera::huggingface {

/// The key that name_special_tokens() writes into a tokenizer.json.
inline constexpr const char* kSpecialTokensKey = "tessera_special_tokens";

/// Sets those that the key's object names.
void read_special_tokens(const FileJson& object, SpecialTokens* specials);

}  // namespace tessera::huggingface
