#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera::huggingface {

/// A token that is looked for in the text as it stands, before words are.
struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool single_word = false;  ///< Only where no letter, mark, digit or _ is beside it.
  bool lstrip = false;       ///< Takes the white space before it along.
  bool rstrip = false;       ///< Takes the white space after it along.
  bool normalized = true;    ///< Looked for in the normalised text.
  bool special = false;      ///< Stands for no text.
};

/// A stretch of text: an added token, or what is between them.
struct TextPart {
  std::string_view text;
  int32_t id = -1;  ///< -1: no token.
};

/// Finds added tokens in text. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Contents must not be empty, and differ.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  /// Appends the parts of `text`, which is UTF-8. Where several tokens begin at a byte the longest
  /// counts; one that fails its single_word is text, and the search goes on behind it.
  void split(std::string_view text, std::vector<TextPart>* parts) const;

 private:
  struct Node {
    int32_t token = -1;  // the place in tokens_ of the one that ends here
    std::vector<std::pair<unsigned char, int32_t>> children;
  };

  void insert(int32_t token);
  int32_t child(int32_t node, unsigned char byte) const;
  size_t next_begin(std::string_view text, size_t from) const;
  int32_t longest_at(std::string_view text, size_t begin) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = {Node()};
  std::array<bool, 256> begins_{};  // whether a token begins with the byte
  int only_begin_ = -1;             // the byte that all begin with, or -1
};

}  // namespace tessera::huggingface
