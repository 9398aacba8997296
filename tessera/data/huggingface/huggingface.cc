#include "tessera/data/huggingface/huggingface.h"

#include <absl/container/flat_hash_map.h>

#include <mutex>
#include <optional>
#include <utility>

#include "tessera/data/huggingface/byte_alphabet.h"
#include "tessera/data/huggingface/special_tokens.h"
#include "tessera/data/huggingface/tokenizer_file.h"
#include "tessera/data/huggingface/word_cache.h"
#include "tessera/data/utf8.h"

namespace tessera {
namespace huggingface {
namespace {

constexpr size_t kLongestText = size_t{1} << 30;  // ICU counts in 31 bits, and normal forms grow

// What a call to encode() works with: made once a thread, so that words need no memory.
struct Workspace {
  WordCache cache;
  Bpe::Space bpe;
  PreTokenizer::Space split;
  std::string valid;       // the text, where it had to be repaired
  std::string normalized;  // a part of it, where it was not normalised
  std::vector<TextPart> parts;
  std::vector<TextPart> inner_parts;
  std::vector<std::string_view> words;
  std::vector<int32_t> word_ids;
};

// Workspaces that no call uses. Any thread may call anything.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto workspace = std::move(free_.back());
        free_.pop_back();
        return workspace;
      }
    }
    return std::make_unique<Workspace>();
  }
  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

// The bytes of every token, in one string.
class TokenBytes {
 public:
  explicit TokenBytes(const std::vector<std::string>& tokens) {
    for (const std::string& token : tokens) {
      bytes_ += bytes_of_text(token).value_or(token);
      ends_.push_back(bytes_.size());
    }
  }
  std::string_view operator[](int32_t id) const {
    const size_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(bytes_).substr(begin, ends_[id] - begin);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

class HuggingFaceTokenizer final : public Tokenizer {
 public:
  HuggingFaceTokenizer(TokenizerFile file, Normalizer normalizer, AddedTokens raw,
                       AddedTokens normalized, std::string model)
      : normalizer_(std::move(normalizer)),
        raw_tokens_(std::move(raw)),
        normalized_tokens_(std::move(normalized)),
        pre_tokenizer_(std::move(file.steps)),
        bpe_(file.byte_ids, file.merges),
        bytes_(file.tokens),
        is_special_(file.tokens.size()),
        special_tokens_(file.special_tokens),
        model_(std::move(model)) {
    for (const AddedToken& token : file.added_tokens) is_special_[token.id] = token.special;
    whole_words_.reserve(file.whole_words.size());
    for (auto& [word, id] : file.whole_words) whole_words_.emplace(std::move(word), id);
  }

  int32_t vocab_size() const override { return static_cast<int32_t>(is_special_.size()); }
  SpecialTokens special_tokens() const override { return special_tokens_; }

  Status encode(std::string_view text, std::vector<int32_t>* ids) const override {
    if (text.size() > kLongestText) {
      return invalid_argument("a document of ", text.size(), " bytes: at most ", kLongestText,
                              " can be encoded; cut it into smaller ones");
    }
    std::unique_ptr<Workspace> workspace = pool_.take();
    const Status status = encode_with(*workspace, text, ids);
    pool_.give_back(std::move(workspace));
    return status;
  }

  Result<std::string> decode(std::span<const int32_t> ids) const override {
    RETURN_IF_ERROR(check_token_ids(ids, vocab_size()));
    std::string text;
    for (const int32_t id : ids) {
      if (!is_special_[id]) text += bytes_[id];
    }
    replace_invalid_utf8(&text);  // a character may be cut at the end
    return text;
  }

  std::string piece(int32_t id) const override {
    const std::string text = text_of_bytes(bytes_[id]);
    return text.empty() ? str_cat("<no token ", id, ">") : text;
  }

  std::string kind() const override { return "huggingface"; }
  std::string_view model() const override { return model_; }

 private:
  Status encode_with(Workspace& space, std::string_view text, std::vector<int32_t>* ids) const {
    if (!is_valid_utf8(text)) {
      space.valid = text;
      replace_invalid_utf8(&space.valid);
      text = space.valid;
    }
    space.parts.clear();
    raw_tokens_.split(text, &space.parts);
    for (const TextPart& part : space.parts) {
      if (part.id >= 0) {
        ids->push_back(part.id);
      } else {
        RETURN_IF_ERROR(encode_part(space, part.text, ids));
      }
    }
    return {};
  }

  Status encode_part(Workspace& space, std::string_view text, std::vector<int32_t>* ids) const {
    ASSIGN_OR_RETURN(text, normalizer_.apply(text, &space.normalized));
    space.inner_parts.clear();
    normalized_tokens_.split(text, &space.inner_parts);
    for (const TextPart& part : space.inner_parts) {
      if (part.id >= 0) {
        ids->push_back(part.id);
        continue;
      }
      RETURN_IF_ERROR(pre_tokenizer_.split(part.text, space.split, &space.words));
      for (const std::string_view word : space.words) encode_word(space, word, ids);
    }
    return {};
  }

  void encode_word(Workspace& space, std::string_view word, std::vector<int32_t>* ids) const {
    const bool cached = word.size() <= WordCache::kLongestWord;
    if (cached) {
      const std::span<const int32_t> found = space.cache.find(word);
      if (!found.empty()) {
        ids->insert(ids->end(), found.begin(), found.end());
        return;
      }
    }
    space.word_ids.clear();
    const auto whole = whole_words_.find(to_absl(word));
    if (whole != whole_words_.end()) {
      space.word_ids.push_back(whole->second);
    } else {
      bpe_.encode(word, space.bpe, &space.word_ids);
    }
    if (cached) space.cache.put(word, space.word_ids);
    ids->insert(ids->end(), space.word_ids.begin(), space.word_ids.end());
  }

  const Normalizer normalizer_;
  const AddedTokens raw_tokens_;         // looked for in the text as it is
  const AddedTokens normalized_tokens_;  // in the normalised text
  const PreTokenizer pre_tokenizer_;
  const Bpe bpe_;
  const TokenBytes bytes_;
  std::vector<bool> is_special_;
  absl::flat_hash_map<std::string, int32_t> whole_words_;  // where merges are ignored
  const SpecialTokens special_tokens_;
  const std::string model_;
  mutable WorkspacePool pool_;
};

Status check_special(int32_t id, const char* name, size_t tokens) {
  if (id >= -1 && id < static_cast<int64_t>(tokens)) return {};
  return invalid_argument(name, " is the token ", id, ", which the vocabulary does not have");
}

}  // namespace
}  // namespace huggingface

Result<std::shared_ptr<const Tokenizer>> load_huggingface(std::string model) {
  using namespace huggingface;
  ASSIGN_OR_RETURN(TokenizerFile file, parse_tokenizer_file(model));
  const SpecialTokens& special = file.special_tokens;
  RETURN_IF_ERROR(check_special(special.bos, "bos", file.tokens.size()));
  RETURN_IF_ERROR(check_special(special.eos, "eos", file.tokens.size()));
  RETURN_IF_ERROR(check_special(special.pad, "pad", file.tokens.size()));
  ASSIGN_OR_RETURN(Normalizer normalizer, Normalizer::create(file.normalizers));
  std::vector<AddedToken> raw, normalized;
  for (AddedToken& token : file.added_tokens) {
    if (!token.normalized) {
      raw.push_back(token);
      continue;
    }
    std::string buffer;
    ASSIGN_OR_RETURN(const std::string_view content, normalizer.apply(token.content, &buffer));
    file.tokens[token.id] = token.content = content;
    normalized.push_back(token);
  }
  return std::make_shared<HuggingFaceTokenizer>(
      std::move(file), std::move(normalizer), AddedTokens(std::move(raw)),
      AddedTokens(std::move(normalized)), std::move(model));
}

}  // namespace tessera
