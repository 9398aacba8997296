#include "tessera/data/huggingface/byte_alphabet.h"

#include <array>
#include <cstdint>

namespace tessera::huggingface {
namespace {

constexpr int kOthers = 0x100;  // the character of the first byte that does not stand for itself

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<uint16_t, 256> character{};
  std::array<int16_t, 2 * 256> byte{};  // -1: not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.byte) byte = -1;
  int next = kOthers;
  for (int byte = 0; byte < 256; ++byte) {
    const int character = stands_for_itself(byte) ? byte : next++;
    alphabet.character[byte] = static_cast<uint16_t>(character);
    alphabet.byte[character] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string text_of_bytes(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const unsigned character = kAlphabet.character[static_cast<unsigned char>(c)];
    if (character < 0x80) {
      text.push_back(static_cast<char>(character));
    } else {
      text.push_back(static_cast<char>(0xC0 | character >> 6));
      text.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    }
  }
  return text;
}

std::optional<std::string> bytes_of_text(std::string_view token) {
  std::string bytes;
  for (size_t i = 0; i < token.size(); ++i) {
    unsigned character = static_cast<unsigned char>(token[i]);
    if (character >= 0x80) {  // the alphabet's characters have two bytes at most
      if (character < 0xC2 || character > 0xC7 || i + 1 == token.size()) return std::nullopt;
      character = (character & 0x1F) << 6 | (static_cast<unsigned char>(token[++i]) & 0x3F);
    }
    const int byte = kAlphabet.byte[character];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace tessera::huggingface
