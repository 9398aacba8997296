#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/status.h"
#include "tessera/data/tokenizer.h"

namespace tessera {

/// Gives the next line of text, valid until the next call, or nothing at the end.
using LineSource = std::function<std::optional<std::string_view>()>;

/// Trains a BPE model on the lines: nothing is normalised, digits are single, what no piece covers
/// is spelled in bytes; unk = 0, bos = 1, eos = 2, pad = 3. Returns the serialized model. The same
/// lines give the same bytes. INVALID_ARGUMENT when the lines are
/// too few for such a vocabulary.
Result<std::string> train_sentencepiece(int32_t vocab_size, LineSource lines);

/// A tokenizer from a serialized SentencePiece model of any type (`tokenizer.model` files).
Result<std::shared_ptr<const Tokenizer>> load_sentencepiece(std::string model);

}  // namespace tessera
