#include "tessera/data/token_store_writer.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::string_view kPartial = ".partial-";

// What writers that were killed have left; the name's end is the process that wrote it.
Status remove_stale(FileSystem& files, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, files.list(parent_path(folder)));
  const std::string prefix = str_cat(base_name(folder), kPartial);
  for (const FileInfo& entry : entries) {
    if (!entry.name.starts_with(prefix)) continue;
    const pid_t writer = std::atoi(entry.name.c_str() + prefix.size());
    const bool dead = writer == getpid() || (kill(writer, 0) != 0 && errno == ESRCH);
    if (!dead) continue;
    RETURN_IF_ERROR(files.remove_tree(join_path(parent_path(folder), entry.name)));
  }
  return {};
}

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

Result<std::unique_ptr<TokenStoreWriter>> TokenStoreWriter::create(
    FileSystem& files, const std::string& folder, std::shared_ptr<const Tokenizer> tokenizer,
    const TokenStoreWriterOptions& options) {
  std::unique_ptr<TokenStoreWriter> writer(
      new TokenStoreWriter(files, without_trailing_slashes(folder), std::move(tokenizer), options));
  RETURN_IF_ERROR(writer->open());
  return writer;
}

TokenStoreWriter::TokenStoreWriter(FileSystem& files, std::string folder,
                                   std::shared_ptr<const Tokenizer> tokenizer,
                                   const TokenStoreWriterOptions& options)
    : files_(files),
      folder_(std::move(folder)),
      partial_(str_cat(folder_, kPartial, getpid())),
      tokenizer_(std::move(tokenizer)),
      options_(options) {
  manifest_.vocab_size = tokenizer_->vocab_size();
  manifest_.token_bytes = manifest_.vocab_size <= 1 << 16 ? 2 : 4;
  manifest_.special_tokens = tokenizer_->special_tokens();
  manifest_.tokenizer = tokenizer_->kind();
  manifest_.adds_bos = options.add_bos && manifest_.special_tokens.bos >= 0;
  manifest_.adds_eos = options.add_eos && manifest_.special_tokens.eos >= 0;
}

Status TokenStoreWriter::open() {
  const bool is_store = files_.exists(join_path(folder_, kManifestFile));
  if (files_.exists(folder_) && !(options_.overwrite && is_store)) {
    return absl::AlreadyExistsError(
        str_cat(folder_, " is there already",
                is_store ? ": choose another folder, or replace it with --overwrite"
                         : " and is no token store: choose another folder"));
  }
  RETURN_IF_ERROR(files_.create_dirs(parent_path(folder_)));
  RETURN_IF_ERROR(remove_stale(files_, folder_));
  RETURN_IF_ERROR(files_.create_dir(partial_));
  ASSIGN_OR_RETURN(tokens_file_, files_.create_file(join_path(partial_, kTokensFile)));
  buffer_.reserve(kBufferBytes);
  return {};
}

TokenStoreWriter::~TokenStoreWriter() {
  tokens_file_.reset();
  if (!finished_) files_.remove_tree(partial_).IgnoreError();
}

void TokenStoreWriter::put(int32_t token) {
  for (int i = 0; i < manifest_.token_bytes; ++i) {
    buffer_.push_back(static_cast<std::byte>(token >> (8 * i)));
  }
  ++tokens_;
}

Status TokenStoreWriter::add_document(std::span<const int32_t> tokens,
                                      std::span<const uint8_t> mask) {
  if (tokens.empty()) return invalid_argument("a document of a token store must have a token");
  RETURN_IF_ERROR(check_token_ids(tokens, manifest_.vocab_size));
  if (manifest_.adds_bos) put(manifest_.special_tokens.bos);
  for (const int32_t token : tokens) put(token);
  if (manifest_.adds_eos) put(manifest_.special_tokens.eos);
  if (options_.loss_mask) {
    CHECK_MSG(mask.size() == tokens.size(), "a mask has an entry for each token");
    if (manifest_.adds_bos) mask_.push_back(std::byte{0});
    for (const uint8_t learned : mask) mask_.push_back(std::byte{learned});
    if (manifest_.adds_eos) mask_.push_back(std::byte{mask.back()});
  }
  starts_.push_back(tokens_);
  return buffer_.size() >= kBufferBytes ? flush() : Status();
}

Status TokenStoreWriter::flush() {
  RETURN_IF_ERROR(tokens_file_->append(std::span<const std::byte>(buffer_)));
  written_.crc32c = crc32c(buffer_, written_.crc32c);
  written_.size_bytes += buffer_.size();
  buffer_.clear();
  return {};
}

Status TokenStoreWriter::write_file(std::string_view name, std::span<const std::byte> bytes) {
  manifest_.files[std::string(name)] = {static_cast<int64_t>(bytes.size()), crc32c(bytes)};
  return files_.write_file(join_path(partial_, name), {bytes});
}

Status TokenStoreWriter::finish(const BuildCounts& counts) {
  if (documents() == 0) {
    std::string why;
    for (const auto& [reason, count] : counts.skipped)
      str_append(&why, ", ", count, " documents left out (", reason, ")");
    return invalid_argument("the corpus has no text", why, ": ", folder_, " is not made");
  }
  RETURN_IF_ERROR(flush());
  RETURN_IF_ERROR(tokens_file_->sync());
  RETURN_IF_ERROR(tokens_file_->close());
  manifest_.files[std::string(kTokensFile)] = written_;
  RETURN_IF_ERROR(write_file(kDocumentsFile, std::as_bytes(std::span(starts_))));
  if (options_.loss_mask) RETURN_IF_ERROR(write_file(kLossMaskFile, mask_));
  const std::string_view model = tokenizer_->model();
  if (!model.empty())
    RETURN_IF_ERROR(
        write_file(tokenizer_file(manifest_.tokenizer), std::as_bytes(std::span(model))));
  manifest_.tokens = tokens_;
  manifest_.documents = documents();
  manifest_.counts = counts;
  const std::string text = manifest_.to_text();
  RETURN_IF_ERROR(
      files_.write_file(join_path(partial_, kManifestFile), {std::as_bytes(std::span(text))}));
  RETURN_IF_ERROR(files_.sync_dir(partial_));
  return move_into_place();
}

Status TokenStoreWriter::move_into_place() {
  const std::string old = str_cat(folder_, ".old-", getpid());
  const bool replaces = files_.exists(folder_);
  if (replaces) RETURN_IF_ERROR(files_.rename(folder_, old));
  RETURN_IF_ERROR(files_.rename(partial_, folder_));
  finished_ = true;
  RETURN_IF_ERROR(files_.sync_dir(parent_path(folder_)));
  return replaces ? files_.remove_tree(old) : Status();
}

}  // namespace tessera
