#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"

namespace tessera {

/// For tests: an object store in memory, with the rules that S3 has. A file appears, whole, when it
/// is closed, and never without that; there are no directories but the names that start with a
/// path; nothing is renamed. Thread-safe.
class MemoryStore final : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override;
  Status create_dir(const std::string&) override { return absl::OkStatus(); }
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_dir(const std::string&) override { return absl::OkStatus(); }
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<int64_t> free_bytes(const std::string& path) override;
  bool renames_folders(const std::string&) const override { return false; }
  Status create_once(const std::string& path, std::string_view text) override;

  /// The names of all files, sorted.
  std::vector<std::string> names() const;

 private:
  friend class MemoryWritableFile;
  using Bytes = std::shared_ptr<const std::string>;
  mutable std::mutex mutex_;
  std::map<std::string, Bytes> files_;  // guarded by mutex_
};

}  // namespace tessera
