#include "tessera/data/token_store.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "tessera/base/crc32c.h"
#include "tessera/base/filesystem.h"

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little, "token stores are mapped as they are");

constexpr std::string_view kRemedy = "; copy the store again, or build it again";

template <typename Stored>
void widen(std::span<const std::byte> bytes, int64_t begin, std::span<int32_t> out) {
  const Stored* tokens = reinterpret_cast<const Stored*>(bytes.data()) + begin;
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(tokens[i]);
}

}  // namespace

Result<std::shared_ptr<const TokenStore>> TokenStore::open(const std::string& folder) {
  PosixFileSystem files;
  const std::string manifest_path = join_path(folder, kManifestFile);
  const Result<std::string> text = files.read_file(manifest_path);
  if (!text.ok()) {
    return annotate(text.status(), str_cat("no token store in ", folder,
                                           " (build one with `tessera ", "data build`)"));
  }
  std::shared_ptr<TokenStore> store(new TokenStore);
  store->folder_ = folder;
  ASSIGN_OR_RETURN(store->manifest_, parse_manifest(*text, manifest_path));
  const TokenStoreManifest& manifest = store->manifest_;
  RETURN_IF_ERROR(
      store->map_file(kTokensFile, manifest.tokens * manifest.token_bytes, &store->tokens_));
  const int64_t starts = manifest.documents + 1;
  RETURN_IF_ERROR(store->map_file(kDocumentsFile, starts * 8, &store->documents_));
  store->starts_ = {reinterpret_cast<const uint64_t*>(store->documents_.bytes().data()),
                    static_cast<size_t>(starts)};
  if (manifest.files.contains(std::string(kLossMaskFile))) {
    RETURN_IF_ERROR(store->map_file(kLossMaskFile, manifest.tokens, &store->loss_mask_file_));
    store->loss_mask_ = {reinterpret_cast<const uint8_t*>(store->loss_mask_file_.bytes().data()),
                         static_cast<size_t>(manifest.tokens)};
  }
  if (store->starts_.front() != 0 ||
      store->starts_.back() != static_cast<uint64_t>(manifest.tokens)) {
    return data_loss(join_path(folder, kDocumentsFile), ": goes from ", store->starts_.front(),
                     " to ", store->starts_.back(), ", expected 0 to ", manifest.tokens, kRemedy);
  }
  return std::shared_ptr<const TokenStore>(std::move(store));
}

Status TokenStore::map_file(std::string_view name, int64_t expected_bytes, MappedFile* file) const {
  const std::string path = join_path(folder_, name);
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok()) return data_loss(mapped.status().message(), kRemedy);
  *file = *std::move(mapped);
  const int64_t found_bytes = file->bytes().size();
  if (found_bytes == expected_bytes) return {};
  return data_loss(path, ": expected ", expected_bytes, " bytes, found ", found_bytes, kRemedy);
}

void TokenStore::read(int64_t begin, std::span<int32_t> out) const {
  bytes_read_ += std::ssize(out) * manifest_.token_bytes;
  if (manifest_.token_bytes == 2) {
    widen<uint16_t>(tokens_.bytes(), begin, out);
  } else {
    widen<uint32_t>(tokens_.bytes(), begin, out);
  }
}

Result<std::vector<int32_t>> TokenStore::document(int64_t index) const {
  if (index < 0 || index >= documents()) {
    return absl::OutOfRangeError(str_cat("document ", index, " is not there: ", folder_, " has ",
                                         documents(), ", numbered from 0"));
  }
  const uint64_t begin = starts_[index];
  const uint64_t end = starts_[index + 1];
  if (begin > end || end > static_cast<uint64_t>(tokens())) return verify_documents();
  std::vector<int32_t> out(end - begin);
  read(begin, out);
  return out;
}

Result<std::shared_ptr<const Tokenizer>> TokenStore::tokenizer() const {
  std::string model;
  const std::string_view name = tokenizer_file(manifest_.tokenizer);
  if (manifest_.files.contains(std::string(name))) {
    const std::string path = join_path(folder_, name);
    PosixFileSystem files;
    ASSIGN_OR_RETURN(model, files.read_file(path));
    RETURN_IF_ERROR(verify_checksum(name, std::as_bytes(std::span(model))));
  }
  return make_tokenizer(manifest_.tokenizer, std::move(model));
}

Status TokenStore::verify() const {
  RETURN_IF_ERROR(verify_checksum(kTokensFile, tokens_.bytes()));
  RETURN_IF_ERROR(verify_checksum(kDocumentsFile, documents_.bytes()));
  if (has_loss_mask()) RETURN_IF_ERROR(verify_checksum(kLossMaskFile, loss_mask_file_.bytes()));
  RETURN_IF_ERROR(verify_documents());
  RETURN_IF_ERROR(verify_tokens());
  return tokenizer().status();
}

Status TokenStore::verify_checksum(std::string_view name, std::span<const std::byte> bytes) const {
  const StoredFile& expected = manifest_.files.at(std::string(name));
  const uint32_t found = crc32c(bytes);
  if (found == expected.crc32c) return {};
  return data_loss(join_path(folder_, name), ": damaged: expected crc32c ", expected.crc32c, " of ",
                   expected.size_bytes, " bytes, found ", found, " of ", bytes.size(), kRemedy);
}

Status TokenStore::verify_documents() const {
  const auto fall = std::adjacent_find(starts_.begin(), starts_.end(), std::greater<>());
  if (fall == starts_.end()) return {};
  return data_loss(join_path(folder_, kDocumentsFile), ": document ", fall - starts_.begin(),
                   " begins at ", fall[0], " and ends at ", fall[1], kRemedy);
}

Status TokenStore::verify_tokens() const {
  std::vector<int32_t> chunk(int64_t{1} << 16);
  for (int64_t begin = 0; begin < tokens(); begin += chunk.size()) {
    chunk.resize(std::min<int64_t>(chunk.size(), tokens() - begin));
    read(begin, chunk);
    RETURN_IF_ERROR(annotate(check_token_ids(chunk, manifest_.vocab_size),
                             str_cat(join_path(folder_, kTokensFile), ": after token ", begin)));
  }
  return {};
}

std::string TokenStore::fingerprint() const {
  const uint32_t tokens_crc = manifest_.files.at(std::string(kTokensFile)).crc32c;
  const uint32_t documents_crc = manifest_.files.at(std::string(kDocumentsFile)).crc32c;
  const std::string text = str_cat(tokens(), "-", tokens_crc, "-", documents_crc);
  if (!has_loss_mask()) return text;
  return str_cat(text, "-", manifest_.files.at(std::string(kLossMaskFile)).crc32c);
}

}  // namespace tessera
