#include "tessera/data/build_progress.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tessera/base/hash.h"

namespace tessera {
namespace {

// Of a local file; of others none is known, and none is the same each time.
int64_t change_time(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? 0 : time.time_since_epoch().count();
}

uint64_t hash_text(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

}  // namespace

Result<std::string> build_key(FileSystem& files, const BuildOptions& options,
                              const std::vector<CorpusFile>& corpus) {
  const TokenizerOptions& tokenizer = options.tokenizer;
  const SpecialTokenNames& special = tokenizer.special;
  Json key = {1,
              options.corpus.text_key,
              options.corpus.skip_bad,
              options.corpus.max_document_bytes,
              tokenizer.kind,
              tokenizer.vocab_size,
              tokenizer.training_bytes,
              special.bos,
              special.eos,
              special.pad,
              options.store.add_bos,
              options.store.add_eos};
  if (options.corpus.chat) {
    const ChatTemplate& chat = *options.corpus.chat;
    key.push_back({chat.system, chat.user, chat.assistant});
  }
  if (!tokenizer.model_path.empty()) {
    for (const std::string& path : {tokenizer.model_path, tokenizer_config_path(tokenizer)}) {
      if (!files.exists(path)) continue;
      ASSIGN_OR_RETURN(const std::string model, files.read_file(path));
      key.push_back({path, hash_text(model)});
    }
  }
  for (const CorpusFile& file : corpus) {
    key.push_back({file.path, file.size_bytes, change_time(file.path)});
  }
  const std::string text = key.dump(-1, ' ', false, Json::error_handler_t::replace);
  return str_cat(text.size(), "-", hash_text(text));
}

std::string BuildPosition::to_text() const {
  const Json json = {{"file", position.file},           {"offset", position.offset},
                     {"line", position.line},           {"bytes_done", position.bytes_done},
                     {"text_bytes", counts.text_bytes}, {"invalid_utf8", counts.invalid_utf8},
                     {"skipped", counts.skipped}};
  // A reason may have the key's name, and that bytes that are not UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<BuildPosition> parse_build_position(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    return BuildPosition{
        {json.at("file").get<int64_t>(), json.at("offset").get<int64_t>(),
         json.at("line").get<int64_t>(), json.at("bytes_done").get<int64_t>()},
        {json.at("text_bytes").get<int64_t>(), json.at("invalid_utf8").get<int64_t>(),
         json.at("skipped").get<std::map<std::string, int64_t>>()}};
  } catch (const nlohmann::json::exception& error) {
    return data_loss("what a build left: ", error.what());
  }
}

}  // namespace tessera
