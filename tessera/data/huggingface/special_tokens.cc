#include "tessera/data/huggingface/special_tokens.h"

#include <nlohmann/json.hpp>

#include "tessera/data/huggingface/huggingface.h"

namespace tessera {
namespace huggingface {
namespace {

// Of a tokenizer_config.json: a string, an object with "content", or null.
std::string name_of(const FileJson& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return "";
  if (found->is_object()) return found->at("content").get<std::string>();
  return found->get<std::string>();
}

Status set_id(const TokenizerFile& file, const std::string& name, const char* what, int32_t* id) {
  if (name.empty()) return {};
  for (const AddedToken& token : file.added_tokens) {
    if (token.content == name) {
      *id = token.id;
      return {};
    }
  }
  for (size_t i = 0; i < file.tokens.size(); ++i) {
    if (file.tokens[i] == name) {
      *id = static_cast<int32_t>(i);
      return {};
    }
  }
  return invalid_argument("the ", what, " token ", name, " is not in the vocabulary");
}

Status read_config(std::string_view config_json, SpecialTokenNames* names) {
  if (config_json.empty()) return {};
  try {
    const FileJson config = FileJson::parse(config_json);
    if (names->bos.empty()) names->bos = name_of(config, "bos_token");
    if (names->eos.empty()) names->eos = name_of(config, "eos_token");
    if (names->pad.empty()) names->pad = name_of(config, "pad_token");
    return {};
  } catch (const nlohmann::json::exception& error) {
    return invalid_argument("tokenizer_config.json: ", error.what());
  }
}

// The text that this file puts in: behind the first brace, so that it is found again.
std::string opening(const SpecialTokens& specials) {
  return str_cat("{\"", kSpecialTokensKey, "\": {\"bos\": ", specials.bos,
                 ", \"eos\": ", specials.eos, ", \"pad\": ", specials.pad, "},");
}

}  // namespace

void read_special_tokens(const FileJson& object, SpecialTokens* specials) {
  object.at("bos").get_to(specials->bos);
  object.at("eos").get_to(specials->eos);
  object.at("pad").get_to(specials->pad);
}

}  // namespace huggingface

Result<std::string> name_special_tokens(std::string tokenizer_json, std::string_view config_json,
                                        const SpecialTokenNames& names) {
  using namespace huggingface;
  ASSIGN_OR_RETURN(const TokenizerFile file, parse_tokenizer_file(tokenizer_json));
  SpecialTokenNames wanted = names;
  RETURN_IF_ERROR(read_config(config_json, &wanted));
  SpecialTokens specials = file.special_tokens;
  RETURN_IF_ERROR(set_id(file, wanted.bos, "bos", &specials.bos));
  RETURN_IF_ERROR(set_id(file, wanted.eos, "eos", &specials.eos));
  RETURN_IF_ERROR(set_id(file, wanted.pad, "pad", &specials.pad));
  const std::string before = opening(file.special_tokens);
  const size_t brace = tokenizer_json.find('{');
  const bool named = tokenizer_json.compare(brace, before.size(), before) == 0;
  tokenizer_json.replace(brace, named ? before.size() : 1, opening(specials));
  return tokenizer_json;
}

}  // namespace tessera
