#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::huggingface {

/// Byte-level vocabularies are text: each byte is written as one printable character, itself where
/// it is one (`!` to `~`, and most of Latin-1), else one from U+0100 on; a space is `Ġ`. The
/// alphabet is GPT-2's.
std::string text_of_bytes(std::string_view bytes);

/// The bytes that a token stands for; nothing where it has a character outside the alphabet.
std::optional<std::string> bytes_of_text(std::string_view token);

}  // namespace tessera::huggingface
