#include "tessera/data/huggingface/tokenizer_file.h"

#include <absl/container/flat_hash_map.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tessera/data/huggingface/byte_alphabet.h"
#include "tessera/data/huggingface/special_tokens.h"

namespace tessera::huggingface {
namespace {

constexpr int32_t kMostTokens = 1 << 24;  // an id beyond that is a mistake, and would fill memory

Status check_top(const FileJson& file) {
  if (file.contains("version") && file["version"] != "1.0") {
    return unimplemented("version ", file["version"].dump(), " is not supported, 1.0 is");
  }
  for (const char* key : {"truncation", "padding"}) {
    if (file.contains(key) && !file[key].is_null()) {
      return unimplemented(key, " is set, which would change documents: make it null");
    }
  }
  for (const char* key : {"model", "pre_tokenizer", "decoder"}) {
    if (!file.contains(key) || file[key].is_null()) {
      return unimplemented(key, " is missing: byte-level BPE is what is supported");
    }
  }
  return {};
}

Status put_token(std::string_view token, int64_t id, TokenizerFile* file) {
  if (id < 0 || id >= kMostTokens) return invalid_argument("token ", token, " has the id ", id);
  if (static_cast<size_t>(id) >= file->tokens.size()) file->tokens.resize(id + 1);
  if (file->tokens[id].empty()) file->tokens[id] = token;
  return {};
}

// Of the pair form, or of the form "left right".
Result<std::pair<std::string, std::string>> merge_pair(const FileJson& merge) {
  if (merge.is_array() && merge.size() == 2) {
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return invalid_argument(merge.dump(), " is not two tokens");
}

using Vocabulary = absl::flat_hash_map<std::string, int32_t>;

Result<int32_t> id_of(const Vocabulary& vocabulary, const std::string& token) {
  const auto found = vocabulary.find(token);
  if (found != vocabulary.end()) return found->second;
  return invalid_argument("the token ", token, " is not in the vocabulary");
}

Result<Bpe::Merge> parse_merge(const FileJson& merge, const Vocabulary& vocabulary) {
  ASSIGN_OR_RETURN(const auto pair, merge_pair(merge));
  ASSIGN_OR_RETURN(const int32_t left, id_of(vocabulary, pair.first));
  ASSIGN_OR_RETURN(const int32_t right, id_of(vocabulary, pair.second));
  ASSIGN_OR_RETURN(const int32_t result, id_of(vocabulary, pair.first + pair.second));
  return Bpe::Merge{left, right, result};
}

Status check_model(const FileJson& model) {
  if (const std::string type = model.value("type", "BPE"); type != "BPE") {
    return unimplemented("model.type ", type, " is not supported, BPE is");
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto found = model.find(key);
    if (found != model.end() && !found->is_null() && *found != "") {
      return unimplemented("model.", key, " ", found->dump(), " is not supported");
    }
  }
  const auto dropout = model.find("dropout");
  if (dropout != model.end() && !dropout->is_null() && dropout->get<double>() != 0) {
    return unimplemented("model.dropout ", dropout->dump(), " is not supported: make it null");
  }
  return {};
}

}  // namespace

Status parse_model(const FileJson& model, TokenizerFile* file) {
  RETURN_IF_ERROR(check_model(model));
  Vocabulary vocabulary;
  for (const auto& [token, id] : model.at("vocab").items()) {
    RETURN_IF_ERROR(annotate(put_token(token, id.get<int64_t>(), file), "model.vocab"));
    vocabulary[token] = id.get<int32_t>();
  }
  // So every text has tokens, and unk_token, fuse_unk and byte_fallback never count.
  for (int byte = 0; byte < 256; ++byte) {
    const std::string token = text_of_bytes(std::string(1, static_cast<char>(byte)));
    const auto found = vocabulary.find(token);
    if (found == vocabulary.end()) {
      return unimplemented("model.vocab has no token ", token, " for the byte ", byte,
                           ": a vocabulary of byte-level BPE has all 256");
    }
    file->byte_ids[byte] = found->second;
  }
  const FileJson& merges = model.at("merges");
  file->merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const Result<Bpe::Merge> merge = parse_merge(merges[i], vocabulary);
    if (!merge.ok()) return annotate(merge.status(), str_cat("model.merges[", i, "]"));
    file->merges.push_back(*merge);
  }
  if (!model.value("ignore_merges", false)) return {};
  for (const auto& [token, id] : vocabulary) {
    if (std::optional<std::string> bytes = bytes_of_text(token); bytes.has_value()) {
      file->whole_words.emplace_back(*std::move(bytes), id);
    }
  }
  return {};
}

Status parse_added_tokens(const FileJson& added_tokens, TokenizerFile* file) {
  absl::flat_hash_map<std::string, int32_t> ids;
  for (size_t id = 0; id < file->tokens.size(); ++id) {
    if (!file->tokens[id].empty()) ids[file->tokens[id]] = static_cast<int32_t>(id);
  }
  for (size_t i = 0; i < added_tokens.size(); ++i) {
    const FileJson& json = added_tokens[i];
    AddedToken token = {.id = json.at("id").get<int32_t>(),
                        .content = json.at("content").get<std::string>(),
                        .single_word = json.value("single_word", false),
                        .lstrip = json.value("lstrip", false),
                        .rstrip = json.value("rstrip", false),
                        .normalized = json.value("normalized", true),
                        .special = json.value("special", false)};
    const std::string place = str_cat("added_tokens[", i, "]");
    if (token.content.empty()) return invalid_argument(place, " is empty");
    for (const AddedToken& other : file->added_tokens) {
      if (other.content == token.content)
        return invalid_argument(place, ": ", token.content, " is there twice");
    }
    const auto known = ids.find(token.content);
    const bool taken = token.id >= 0 && static_cast<size_t>(token.id) < file->tokens.size() &&
                       !file->tokens[token.id].empty() && file->tokens[token.id] != token.content;
    if (taken || (known != ids.end() && known->second != token.id)) {
      return invalid_argument(place, ": ", token.content, " has the id ", token.id,
                              ", but the vocabulary says otherwise");
    }
    RETURN_IF_ERROR(annotate(put_token(token.content, token.id, file), place));
    file->added_tokens.push_back(std::move(token));
  }
  return {};
}

Result<TokenizerFile> parse_tokenizer_file(std::string_view text) {
  try {
    FileJson json = FileJson::parse(text);
    if (!json.is_object()) return invalid_argument("not a tokenizer.json: not a JSON object");
    RETURN_IF_ERROR(check_top(json));
    TokenizerFile file;
    ASSIGN_OR_RETURN(file.normalizers, parse_normalizer(json.value("normalizer", FileJson())));
    ASSIGN_OR_RETURN(file.steps, parse_pre_tokenizer(json["pre_tokenizer"]));
    RETURN_IF_ERROR(parse_model(json["model"], &file));
    RETURN_IF_ERROR(parse_added_tokens(json.value("added_tokens", FileJson::array()), &file));
    ASSIGN_OR_RETURN(file.special_tokens,
                     parse_post_processor(json.value("post_processor", FileJson())));
    RETURN_IF_ERROR(check_decoder(json["decoder"]));
    if (json.contains(kSpecialTokensKey)) {
      read_special_tokens(json[kSpecialTokensKey], &file.special_tokens);
    }
    return file;
  } catch (const nlohmann::json::parse_error& error) {
    return invalid_argument("not a tokenizer.json: not valid JSON at byte ", error.byte);
  } catch (const nlohmann::json::exception& error) {
    return invalid_argument("not a tokenizer.json that is understood: ", error.what());
  }
}

}  // namespace tessera::huggingface
