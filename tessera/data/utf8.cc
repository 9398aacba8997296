#include "tessera/data/utf8.h"

#include <cstring>

namespace tessera {
namespace {

// The number of bytes at the start of `text` that are a character (valid), or the start of one.
struct Prefix {
  size_t bytes;
  bool valid;
};

Prefix prefix(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range rules out overlong forms, surrogates, and what is above U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

// Most text is ASCII: skip it eight bytes at a time.
size_t skip_ascii(std::string_view text, size_t from) {
  uint64_t word;
  while (from + sizeof(word) <= text.size()) {
    std::memcpy(&word, text.data() + from, sizeof(word));
    if (word & 0x8080808080808080u) break;
    from += sizeof(word);
  }
  return from;
}

size_t first_invalid(std::string_view text, size_t from) {
  while ((from = skip_ascii(text, from)) < text.size()) {
    const Prefix next = prefix(text.substr(from));
    if (!next.valid) return from;
    from += next.bytes;
  }
  return text.size();
}

}  // namespace

bool is_valid_utf8(std::string_view text) { return first_invalid(text, 0) == text.size(); }

int64_t replace_invalid_utf8(std::string* text) {
  size_t invalid = first_invalid(*text, 0);
  if (invalid == text->size()) return 0;
  int64_t replaced = 0;
  std::string repaired;
  size_t done = 0;
  while (invalid < text->size()) {
    repaired.append(*text, done, invalid - done).append("\xEF\xBF\xBD");
    ++replaced;
    done = invalid + prefix(std::string_view(*text).substr(invalid)).bytes;
    invalid = first_invalid(*text, done);
  }
  repaired.append(*text, done);
  text->swap(repaired);
  return replaced;
}

}  // namespace tessera
