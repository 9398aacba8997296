#include "tessera/storage/any_filesystem.h"

#include "tessera/base/usage_error.h"

namespace tessera {

Result<S3FileSystem*> AnyFileSystem::s3() {
  const std::lock_guard lock(mutex_);
  if (s3_ == nullptr) {
    ASSIGN_OR_RETURN(S3Account account, find_s3_account(environment_, disk_));
    S3FileSystem::Options options;
    options.client.account = std::move(account);
    s3_ = std::make_unique<S3FileSystem>(std::move(options), clock_);
  }
  return s3_.get();
}

Result<FileSystem*> AnyFileSystem::at(const std::string& path) {
  if (!is_s3_path(path)) return &disk_;
  RETURN_IF_ERROR(parse_s3_path(path).status());
  const Result<S3FileSystem*> files = s3();
  if (!files.ok()) return annotate(files.status(), path);
  return *files;
}

Status AnyFileSystem::check(const std::string& path, bool writes) {
  if (!is_s3_path(path)) return absl::OkStatus();
  const Result<FileSystem*> files = at(path);
  if (!files.ok()) return usage_error(files.status());
  const Status status = static_cast<S3FileSystem*>(*files)->check(path, writes);
  return status.ok() ? status : usage_error(status);
}

Result<std::unique_ptr<ReadableFile>> AnyFileSystem::open_file(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->open_file(path);
}

Result<std::unique_ptr<WritableFile>> AnyFileSystem::create_file(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->create_file(path);
}

Result<std::unique_ptr<WritableFile>> AnyFileSystem::append_file(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->append_file(path);
}

Status AnyFileSystem::create_dir(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->create_dir(path);
}

Status AnyFileSystem::remove(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->remove(path);
}

Status AnyFileSystem::sync_dir(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->sync_dir(path);
}

Result<std::vector<FileInfo>> AnyFileSystem::list(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->list(path);
}

Result<FileInfo> AnyFileSystem::stat(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->stat(path);
}

Result<int64_t> AnyFileSystem::free_bytes(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->free_bytes(path);
}

Status AnyFileSystem::create_once(const std::string& path, std::string_view text) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->create_once(path, text);
}

Status AnyFileSystem::discard_unfinished(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->discard_unfinished(path);
}

Result<std::string> AnyFileSystem::read_file(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->read_file(path);
}

Status AnyFileSystem::remove_tree(const std::string& path) {
  ASSIGN_OR_RETURN(FileSystem* const files, at(path));
  return files->remove_tree(path);
}

Status AnyFileSystem::rename(const std::string& from, const std::string& to) {
  if (is_s3_path(from) != is_s3_path(to)) {
    return unimplemented(from, ": cannot be renamed to ", to, ", which is in another store");
  }
  ASSIGN_OR_RETURN(FileSystem* const files, at(from));
  return files->rename(from, to);
}

}  // namespace tessera
