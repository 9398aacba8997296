#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// Replaces what is not UTF-8 in `text` by U+FFFD, one for each longest sequence that could have
/// begun a character (as Unicode recommends in chapter 3.9 and browsers do). Returns how many it
/// put in.
int64_t replace_invalid_utf8(std::string* text);

bool is_valid_utf8(std::string_view text);

}  // namespace tessera
