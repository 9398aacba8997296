#include "tessera/data/huggingface/added_tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/data/huggingface/characters.h"

namespace tessera::huggingface {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) insert(static_cast<int32_t>(i));
  if (std::count(begins_.begin(), begins_.end(), true) == 1) {
    only_begin_ =
        static_cast<int>(std::find(begins_.begin(), begins_.end(), true) - begins_.begin());
  }
}

void AddedTokens::insert(int32_t token) {
  int32_t node = 0;
  for (const char c : tokens_[token].content) {
    const auto byte = static_cast<unsigned char>(c);
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_[node].children.emplace_back(byte, next);
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[node].token = token;
  begins_[static_cast<unsigned char>(tokens_[token].content[0])] = true;
}

int32_t AddedTokens::child(int32_t node, unsigned char byte) const {
  for (const auto& [edge, next] : nodes_[node].children) {
    if (edge == byte) return next;
  }
  return -1;
}

size_t AddedTokens::next_begin(std::string_view text, size_t from) const {
  if (only_begin_ >= 0) {
    const void* found = std::memchr(text.data() + from, only_begin_, text.size() - from);
    return found == nullptr ? text.size() : static_cast<const char*>(found) - text.data();
  }
  while (from < text.size() && !begins_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

int32_t AddedTokens::longest_at(std::string_view text, size_t begin) const {
  int32_t found = -1;
  int32_t node = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    node = child(node, static_cast<unsigned char>(text[i]));
    if (node < 0) break;
    if (nodes_[node].token >= 0) found = nodes_[node].token;
  }
  return found;
}

void AddedTokens::split(std::string_view text, std::vector<TextPart>* parts) const {
  size_t done = 0;
  for (size_t at = next_begin(text, 0); at < text.size(); at = next_begin(text, at)) {
    const int32_t found = longest_at(text, at);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found];
    size_t begin = at, end = at + token.content.size();
    at = end;
    if (token.single_word && (ends_with_word_character(text.substr(0, begin)) ||
                              starts_with_word_character(text.substr(end)))) {
      continue;
    }
    // White space that the token before has taken stays with it.
    if (token.lstrip) begin = std::max(begin - trailing_space(text.substr(0, begin)), done);
    if (token.rstrip) end += leading_space(text.substr(end));
    if (done < begin) parts->push_back({text.substr(done, begin - done)});
    parts->push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) parts->push_back({text.substr(done)});
}

}  // namespace tessera::huggingface
