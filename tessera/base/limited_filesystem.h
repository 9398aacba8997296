#pragma once

#include "tessera/base/filesystem.h"

namespace tessera {

/// A file system that can do only what a class derived from it says: every other operation is
/// refuse()'s error.
class LimitedFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override {
    return refuse(path);
  }
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override {
    return refuse(path);
  }
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override {
    return refuse(path);
  }
  Status create_dir(const std::string& path) override { return refuse(path); }
  Status rename(const std::string& from, const std::string&) override { return refuse(from); }
  Status remove(const std::string& path) override { return refuse(path); }
  Status sync_dir(const std::string& path) override { return refuse(path); }
  Result<std::vector<FileInfo>> list(const std::string& path) override { return refuse(path); }
  Result<FileInfo> stat(const std::string& path) override { return refuse(path); }
  Result<int64_t> free_bytes(const std::string& path) override { return refuse(path); }

 protected:
  /// UNIMPLEMENTED, with the reason.
  virtual Status refuse(const std::string& path) const = 0;
};

}  // namespace tessera
