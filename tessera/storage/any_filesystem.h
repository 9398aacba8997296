#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "tessera/storage/s3_filesystem.h"

namespace tessera {

/// The local disk and S3 behind one interface: a path s3://bucket/key is an object's, any other a
/// file's. The account for S3 (find_s3_account) is found when the first such path comes; without
/// one, what is done with it fails and says what to set.
class AnyFileSystem final : public FileSystem {
 public:
  /// Of this process's environment, with a real clock.
  AnyFileSystem() : AnyFileSystem(process_environment()) {}
  explicit AnyFileSystem(Environment environment) : environment_(std::move(environment)) {}

  /// Before a run begins: that the store of `path` can be reached, has the bucket, and may be
  /// listed, and written to when `writes`. OK for a disk, which is not asked. Errors are of usage.
  Status check(const std::string& path, bool writes);

  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override;
  Status create_dir(const std::string& path) override;
  /// Not from one kind to the other.
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<int64_t> free_bytes(const std::string& path) override;
  bool renames_folders(const std::string& path) const override { return !is_s3_path(path); }
  Status create_once(const std::string& path, std::string_view text) override;
  Status discard_unfinished(const std::string& path) override;
  Result<std::string> read_file(const std::string& path) override;
  Status remove_tree(const std::string& path) override;

 private:
  Result<S3FileSystem*> s3();
  /// The one that `path` is of.
  Result<FileSystem*> at(const std::string& path);

  const Environment environment_;
  PosixFileSystem disk_;
  RealClock clock_;
  std::mutex mutex_;
  std::unique_ptr<S3FileSystem> s3_;  // guarded by mutex_
};

}  // namespace tessera
