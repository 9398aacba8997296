#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/status.h"

namespace tessera {

/// One entry of a directory, or what `stat` knows of a path. A directory's size is 0.
struct FileInfo {
  std::string name;  // the last component
  bool is_directory = false;
  int64_t size_bytes = 0;
};

/// A file open for reading. Any thread, any number at once.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  /// The size when it was opened.
  virtual int64_t size_bytes() const = 0;
  /// Fills `out` with the bytes from `offset` on; OUT_OF_RANGE when the file ends before.
  virtual Status read_at(int64_t offset, std::span<std::byte> out) const = 0;
};

/// A file being written. One thread at a time. Destroying it without close() closes it and forgets
/// errors.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(std::span<const std::byte> bytes) = 0;
  /// Returns once everything appended would survive a loss of power.
  virtual Status sync() = 0;
  /// Errors here mean that the data may not have been stored. Call once.
  virtual Status close() = 0;

  Status append(std::string_view text) { return append(std::as_bytes(std::span(text))); }
};

/// Where files are. Every function may be called from any thread at once.
///
/// Errors name the path. Codes: NOT_FOUND, PERMISSION_DENIED, ALREADY_EXISTS, RESOURCE_EXHAUSTED
/// (no space left: the message says the bytes that were to be written and those that are free),
/// OUT_OF_RANGE (read past the end), INTERNAL.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) = 0;
  /// Creates the file, or empties it. The parent directory must exist.
  virtual Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) = 0;
  /// Creates the file, or writes after its end.
  virtual Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) = 0;
  /// Creates one directory; OK when it is there already.
  virtual Status create_dir(const std::string& path) = 0;
  /// Atomic within one disk. Replaces a file at `to`; a directory at `to` must be empty.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file or an empty directory.
  virtual Status remove(const std::string& path) = 0;
  /// Makes the names in the directory (created, renamed, removed) survive a loss of power.
  virtual Status sync_dir(const std::string& path) = 0;
  /// Sorted by name, without "." and "..".
  virtual Result<std::vector<FileInfo>> list(const std::string& path) = 0;
  virtual Result<FileInfo> stat(const std::string& path) = 0;
  /// Bytes that can still be written on the disk that holds `path`, which must exist.
  virtual Result<int64_t> free_bytes(const std::string& path) = 0;
  /// Whether rename() moves a directory there with all that is in it, at once. Object stores
  /// cannot: a directory is nothing but the names that start with its path, and a file appears,
  /// whole, when it is closed.
  virtual bool renames_folders(const std::string& path) const;
  /// Creates the file with `text`, durable when this returns; ALREADY_EXISTS, and the old one
  /// stays, when there is one. In an object store all at once, and of several writers only one
  /// succeeds.
  virtual Status create_once(const std::string& path, std::string_view text);
  /// Discards what writers that died left under a directory and that no list() shows: parts of
  /// files never closed.
  virtual Status discard_unfinished(const std::string& path);
  /// To be called when what was read of a file is damaged: true when there is another copy of it,
  /// which is what is opened by that path from now on.
  virtual bool another_copy(const std::string& path);

  // What follows is made from the above, so an injected fault strikes inside it too.

  virtual Result<std::string> read_file(const std::string& path);
  /// Fills `out` with the bytes from `offset` on; OUT_OF_RANGE when the file ends before.
  Status read_range(const std::string& path, int64_t offset, std::span<std::byte> out);
  bool exists(const std::string& path) { return stat(path).ok(); }
  Result<int64_t> file_size(const std::string& path);
  /// Creates the directory and its missing parents. A new directory's name is durable after this.
  Status create_dirs(const std::string& path);
  /// Removes a directory with everything in it, or a file. OK when there is nothing.
  virtual Status remove_tree(const std::string& path);
  /// Creates or replaces the file with the parts, one after another, and syncs it (not its
  /// directory). A failure may leave part of it: meant for files inside a folder that only a later
  /// rename makes visible.
  Status write_file(const std::string& path,
                    std::initializer_list<std::span<const std::byte>> parts);
  /// Readers see the old file or the whole new one, also after a crash: writes path.tmp, syncs,
  /// renames, syncs the directory; or, in an object store, writes the file.
  Status write_file_atomic(const std::string& path, std::string_view text);
};

/// The local disk. Holds no state.
class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override;
  Status create_dir(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<int64_t> free_bytes(const std::string& path) override;
};

/// "a" + "b" → "a/b"; an empty side gives the other one; `name` must not be absolute.
std::string join_path(std::string_view directory, std::string_view name);
/// "a/b" → "a", "/a" → "/", "a" → ".".
std::string parent_path(std::string_view path);
/// "a/b" → "b".
std::string base_name(std::string_view path);

}  // namespace tessera
