#include "tessera/data/token_store_manifest.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-token-store";
constexpr int kVersion = 1;

// Throws nlohmann's exceptions, which parse_manifest() catches.
TokenStoreManifest from_json(const Json& json) {
  TokenStoreManifest manifest;
  json.at("tokens").get_to(manifest.tokens);
  json.at("documents").get_to(manifest.documents);
  json.at("token_bytes").get_to(manifest.token_bytes);
  json.at("vocab_size").get_to(manifest.vocab_size);
  const Json& special = json.at("special_tokens");
  special.at("bos").get_to(manifest.special_tokens.bos);
  special.at("eos").get_to(manifest.special_tokens.eos);
  special.at("pad").get_to(manifest.special_tokens.pad);
  json.at("tokenizer").get_to(manifest.tokenizer);
  json.at("adds_bos").get_to(manifest.adds_bos);
  json.at("adds_eos").get_to(manifest.adds_eos);
  const Json& counts = json.at("counts");
  counts.at("text_bytes").get_to(manifest.counts.text_bytes);
  counts.at("invalid_utf8").get_to(manifest.counts.invalid_utf8);
  for (const auto& [reason, count] : counts.at("skipped").items()) {
    manifest.counts.skipped[reason] = count.get<int64_t>();
  }
  for (const auto& [name, file] : json.at("files").items()) {
    manifest.files[name] = {file.at("bytes").get<int64_t>(), file.at("crc32c").get<uint32_t>()};
  }
  return manifest;
}

Status check(const TokenStoreManifest& manifest) {
  if (manifest.token_bytes != 2 && manifest.token_bytes != 4) {
    return data_loss("token_bytes is ", manifest.token_bytes, ", not 2 or 4");
  }
  if (manifest.tokens < 1 || manifest.documents < 1 || manifest.vocab_size < 1) {
    return data_loss("tokens, documents and vocab_size must be positive");
  }
  // Their files' sizes are numbers, too.
  constexpr int64_t kMost = int64_t{1} << 56;
  if (manifest.tokens > kMost || manifest.documents > kMost) {
    return data_loss("tokens is ", manifest.tokens, " and documents is ", manifest.documents,
                     ", more than any disk holds");
  }
  for (const std::string_view name : {kTokensFile, kDocumentsFile}) {
    if (!manifest.files.contains(std::string(name))) return data_loss("no entry for ", name);
  }
  return {};
}

}  // namespace

std::string_view tokenizer_file(std::string_view kind) {
  return kind == "huggingface" ? kHuggingFaceFile : kSentencePieceFile;
}

std::string TokenStoreManifest::to_text() const {
  Json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["tokens"] = tokens;
  json["documents"] = documents;
  json["token_bytes"] = token_bytes;
  json["vocab_size"] = vocab_size;
  json["special_tokens"] = {
      {"bos", special_tokens.bos}, {"eos", special_tokens.eos}, {"pad", special_tokens.pad}};
  json["tokenizer"] = tokenizer;
  json["adds_bos"] = adds_bos;
  json["adds_eos"] = adds_eos;
  json["counts"] = {{"text_bytes", counts.text_bytes},
                    {"invalid_utf8", counts.invalid_utf8},
                    {"skipped", Json::object()}};
  for (const auto& [reason, count] : counts.skipped) json["counts"]["skipped"][reason] = count;
  json["files"] = Json::object();
  for (const auto& [name, file] : files) {
    json["files"][name] = {{"bytes", file.size_bytes}, {"crc32c", file.crc32c}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TokenStoreManifest> parse_manifest(std::string_view text, std::string_view source) {
  ASSIGN_OR_RETURN(const Json json, parse_json(text, source));
  try {
    if (json.value("format", "") != kFormat)
      return data_loss(source, ": not a token store's manifest");
    const int version = json.at("version").get<int>();
    if (version != kVersion) {
      return unimplemented(source, ": the format's version is ", version, ", this program reads ",
                           kVersion, "; build the store again or use a later program");
    }
    TokenStoreManifest manifest = from_json(json);
    RETURN_IF_ERROR(annotate(check(manifest), source));
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return data_loss(source, ": ", error.what());
  }
}

}  // namespace tessera
