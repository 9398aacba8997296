#include "tessera/data/token_store_writer.h"

#include <unistd.h>

#include <utility>

#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Status is_there(const std::string& folder, std::string_view what) {
  return absl::AlreadyExistsError(str_cat(folder, " is there already", what));
}

Status check_not_there(FileSystem& files, const std::string& folder, bool overwrite) {
  if (!files.exists(folder)) return {};
  if (!files.exists(join_path(folder, kManifestFile)))
    return is_there(folder, " and is no token store: choose another folder");
  if (overwrite) return {};
  return is_there(folder, ": choose another folder, or replace it with --overwrite");
}

}  // namespace

Status check_store_folder(FileSystem& files, const std::string& given, bool overwrite) {
  const std::string folder = without_trailing_slashes(given);
  RETURN_IF_ERROR(restore_replaced(files, folder));
  RETURN_IF_ERROR(check_not_there(files, folder, overwrite));
  RETURN_IF_ERROR(files.create_dirs(parent_path(folder)));
  const std::string probe = partial_folder(folder, getpid()) + ".probe";
  RETURN_IF_ERROR(files.create_dir(probe));
  return files.remove(probe);
}

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
      partial_(partial_folder(folder_, getpid())),
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
  RETURN_IF_ERROR(restore_replaced(files_, folder_));
  RETURN_IF_ERROR(check_not_there(files_, folder_, options_.overwrite));
  RETURN_IF_ERROR(files_.create_dirs(parent_path(folder_)));
  if (options_.unfinished.has_value()) {
    RETURN_IF_ERROR(go_on(*options_.unfinished));
    return remove_unfinished(files_, folder_, partial_);
  }
  RETURN_IF_ERROR(remove_unfinished(files_, folder_, ""));
  RETURN_IF_ERROR(files_.create_dir(partial_));
  RETURN_IF_ERROR(lock(partial_));
  if (!options_.key.empty()) RETURN_IF_ERROR(files_.sync_dir(parent_path(folder_)));
  return open_files();
}

// Also of two processes with one number, in two containers.
Status TokenStoreWriter::lock(const std::string& folder) {
  auto lock = FolderLock::take(folder, kLockFile);
  if (lock.ok()) lock_.emplace(*std::move(lock));
  if (!absl::IsAlreadyExists(lock.status())) return lock.status();
  return failed_precondition(folder, ": ", lock.status().message(), " writes this store already");
}

Status TokenStoreWriter::open_files() {
  const std::string_view model = tokenizer_->model();
  if (!model.empty()) {
    RETURN_IF_ERROR(
        write_file(tokenizer_file(manifest_.tokenizer), std::as_bytes(std::span(model))));
  }
  for (const std::string_view name : {kTokensFile, kDocumentsFile, kLossMaskFile}) {
    if (name == kLossMaskFile && !options_.loss_mask) continue;
    ASSIGN_OR_RETURN(growing_[std::string(name)],
                     StoredFileWriter::create(files_, join_path(partial_, name)));
  }
  return put_start();
}

Status TokenStoreWriter::go_on(const UnfinishedStore& unfinished) {
  RETURN_IF_ERROR(lock(unfinished.folder));  // of two processes that try, one fails here
  if (unfinished.folder != partial_) RETURN_IF_ERROR(files_.rename(unfinished.folder, partial_));
  const StoreProgress& progress = unfinished.progress;
  tokens_ = progress.tokens;
  documents_ = progress.documents;
  for (const auto& [name, file] : progress.files) {
    if (name == tokenizer_file(manifest_.tokenizer)) {
      manifest_.files[name] = file;
      continue;
    }
    ASSIGN_OR_RETURN(growing_[name],
                     StoredFileWriter::go_on(files_, join_path(partial_, name), file));
  }
  return {};
}

TokenStoreWriter::~TokenStoreWriter() {
  growing_.clear();
  if (!finished_ && lock_) files_.remove_tree(partial_).IgnoreError();
}

void TokenStoreWriter::put(int32_t token) {
  for (int i = 0; i < manifest_.token_bytes; ++i) {
    document_.push_back(static_cast<std::byte>(token >> (8 * i)));
  }
  ++tokens_;
}

// Where the next document begins.
Status TokenStoreWriter::put_start() {
  const auto start = static_cast<uint64_t>(tokens_);
  return growing_[std::string(kDocumentsFile)]->append(std::as_bytes(std::span(&start, 1)));
}

Status TokenStoreWriter::add_document(std::span<const int32_t> tokens,
                                      std::span<const uint8_t> mask) {
  if (tokens.empty()) return invalid_argument("a document of a token store must have a token");
  RETURN_IF_ERROR(check_token_ids(tokens, manifest_.vocab_size));
  document_.clear();
  if (manifest_.adds_bos) put(manifest_.special_tokens.bos);
  for (const int32_t token : tokens) put(token);
  if (manifest_.adds_eos) put(manifest_.special_tokens.eos);
  ++documents_;
  RETURN_IF_ERROR(growing_[std::string(kTokensFile)]->append(document_));
  RETURN_IF_ERROR(put_start());
  if (!options_.loss_mask) return {};
  CHECK_MSG(mask.size() == tokens.size(), "a mask has an entry for each token");
  mask_.clear();
  if (manifest_.adds_bos) mask_.push_back(std::byte{0});
  for (const uint8_t learned : mask) mask_.push_back(std::byte{learned});
  if (manifest_.adds_eos) mask_.push_back(std::byte{mask.back()});
  return growing_[std::string(kLossMaskFile)]->append(mask_);
}

Status TokenStoreWriter::sync_files() {
  for (const auto& [name, file] : growing_) {
    RETURN_IF_ERROR(file->sync());
    manifest_.files[name] = file->written();
  }
  return {};
}

Status TokenStoreWriter::save(const std::string& note) {
  CHECK(!options_.key.empty());
  RETURN_IF_ERROR(sync_files());
  const StoreProgress progress = {.key = options_.key,
                                  .note = note,
                                  .tokens = tokens_,
                                  .documents = documents_,
                                  .files = manifest_.files};
  return files_.write_file_atomic(join_path(partial_, kProgressFile), progress.to_text());
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
  RETURN_IF_ERROR(sync_files());
  for (const auto& [name, file] : growing_) RETURN_IF_ERROR(file->close());
  manifest_.tokens = tokens_;
  manifest_.documents = documents();
  manifest_.counts = counts;
  const std::string text = manifest_.to_text();
  RETURN_IF_ERROR(
      files_.write_file(join_path(partial_, kManifestFile), {std::as_bytes(std::span(text))}));
  const std::string progress = join_path(partial_, kProgressFile);
  if (files_.exists(progress)) RETURN_IF_ERROR(files_.remove(progress));
  RETURN_IF_ERROR(files_.sync_dir(partial_));
  return move_into_place();
}

Status TokenStoreWriter::move_into_place() {
  // Another process may have made one meanwhile.
  RETURN_IF_ERROR(check_not_there(files_, folder_, options_.overwrite));
  const std::string old = replaced_folder(folder_, getpid());
  const bool replaces = files_.exists(folder_);
  unlink(join_path(partial_, kLockFile).c_str());  // held until now, and no file of a store
  if (replaces) RETURN_IF_ERROR(files_.rename(folder_, old));
  RETURN_IF_ERROR(files_.rename(partial_, folder_));
  finished_ = true;
  RETURN_IF_ERROR(files_.sync_dir(parent_path(folder_)));
  return replaces ? files_.remove_tree(old) : Status();
}

}  // namespace tessera
