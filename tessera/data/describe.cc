#include <absl/strings/str_format.h>

#include "tessera/base/format.h"
#include "tessera/data/build.h"

namespace tessera {
namespace {

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::string describe_store(const TokenStore& store) {
  const TokenStoreManifest& manifest = store.manifest();
  const BuildCounts& counts = manifest.counts;
  int64_t stored_bytes = 0;
  for (const auto& [name, file] : manifest.files) stored_bytes += file.size_bytes;
  std::string text = str_cat("token store  ", store.folder(), "\n");
  str_append(&text, "documents    ", count_text(manifest.documents), "\n");
  str_append(&text, "tokens       ", count_text(manifest.tokens), " of ", manifest.token_bytes,
             " bytes\n");
  str_append(&text, "tokenizer    ", manifest.tokenizer, ", vocabulary ", manifest.vocab_size,
             ", bos ", manifest.special_tokens.bos, manifest.adds_bos ? " (added)" : "", ", eos ",
             manifest.special_tokens.eos, manifest.adds_eos ? " (added)" : "", ", pad ",
             manifest.special_tokens.pad, "\n");
  str_append(&text, "text         ", bytes_text(counts.text_bytes),
             absl::StrFormat(", %.2f bytes a token", static_cast<double>(counts.text_bytes) /
                                                         static_cast<double>(manifest.tokens)),
             ", ", count_text(counts.invalid_utf8), " invalid UTF-8 sequences replaced\n");
  for (const auto& [reason, count] : counts.skipped) {
    str_append(&text, "skipped      ", count_text(count), " documents: ", reason, "\n");
  }
  str_append(&text, "on disk      ", bytes_text(stored_bytes), "\n");
  str_append(&text, "fingerprint  ", store.fingerprint(), "\n");
  return text;
}

Result<std::string> describe_document(const TokenStore& store, int64_t document, bool pieces) {
  ASSIGN_OR_RETURN(const std::vector<int32_t> tokens, store.document(document));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer, store.tokenizer());
  ASSIGN_OR_RETURN(const std::string decoded, tokenizer->decode(tokens));
  std::string text = str_cat("document ", document, " of ", store.documents(), ", ", tokens.size(),
                             " tokens\n", decoded, "\n");
  if (!pieces) return text;
  for (const int32_t token : tokens) {
    str_append(&text, token, "\t", one_line(tokenizer->piece(token)), "\n");
  }
  return text;
}

}  // namespace tessera
