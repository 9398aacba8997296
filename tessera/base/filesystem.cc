#include "tessera/base/filesystem.h"

#include <algorithm>

namespace tessera {

Result<std::string> FileSystem::read_file(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, open_file(path));
  std::string text(static_cast<size_t>(file->size_bytes()), '\0');
  RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Status FileSystem::read_range(const std::string& path, int64_t offset, std::span<std::byte> out) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, open_file(path));
  return file->read_at(offset, out);
}

Result<int64_t> FileSystem::file_size(const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, stat(path));
  if (info.is_directory) return failed_precondition(path, ": is a directory, not a file");
  return info.size_bytes;
}

Status FileSystem::create_dirs(const std::string& path) {
  if (!renames_folders(path)) return absl::OkStatus();  // an object store has no directories
  if (const Result<FileInfo> info = stat(path); info.ok()) {
    if (info->is_directory) return absl::OkStatus();
    return failed_precondition(path, ": is a file, not a directory");
  }
  const std::string parent = parent_path(path);
  if (parent != path) RETURN_IF_ERROR(create_dirs(parent));
  RETURN_IF_ERROR(create_dir(path));
  return sync_dir(parent);
}

Status FileSystem::remove_tree(const std::string& path) {
  const Result<FileInfo> info = stat(path);
  if (absl::IsNotFound(info.status())) return absl::OkStatus();
  RETURN_IF_ERROR(info.status());
  if (info->is_directory) {
    ASSIGN_OR_RETURN(const std::vector<FileInfo> entries, list(path));
    for (const FileInfo& entry : entries) RETURN_IF_ERROR(remove_tree(join_path(path, entry.name)));
  }
  return remove(path);
}

Status FileSystem::write_file(const std::string& path,
                              std::initializer_list<std::span<const std::byte>> parts) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, create_file(path));
  for (const auto part : parts) RETURN_IF_ERROR(file->append(part));
  RETURN_IF_ERROR(file->sync());
  return file->close();
}

bool FileSystem::renames_folders(const std::string&) const { return true; }

bool FileSystem::another_copy(const std::string&) { return false; }

Status FileSystem::create_once(const std::string& path, std::string_view text) {
  if (exists(path)) return absl::AlreadyExistsError(str_cat(path, ": is there already"));
  RETURN_IF_ERROR(write_file(path, {std::as_bytes(std::span(text))}));
  return sync_dir(parent_path(path));
}

Status FileSystem::discard_unfinished(const std::string&) { return absl::OkStatus(); }

Status FileSystem::write_file_atomic(const std::string& path, std::string_view text) {
  if (!renames_folders(path)) return write_file(path, {std::as_bytes(std::span(text))});
  const std::string temporary = path + ".tmp";
  Status status = write_file(temporary, {std::as_bytes(std::span(text))});
  if (status.ok()) status = rename(temporary, path);
  if (!status.ok()) {
    (void)remove(temporary);  // the first error is the one to report
    return status;
  }
  return sync_dir(parent_path(path));
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  if (name.empty()) return std::string(directory);
  return str_cat(directory, directory.back() == '/' ? "" : "/", name);
}

std::string parent_path(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace tessera
