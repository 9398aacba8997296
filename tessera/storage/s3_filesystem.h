#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/thread.h"
#include "tessera/storage/s3_client.h"

namespace tessera {

/// An S3-compatible object store: paths are s3://bucket/key. A file appears, whole, when it is
/// closed; destroyed without that it leaves nothing. There are no directories but the keys that
/// start with a path, and no renaming of them (renames_folders() is false).
class S3FileSystem final : public FileSystem {
 public:
  struct Options {
    S3Client::Options client;
    /// Files up to this are one request; larger ones are sent in parts of this size, which grow
    /// with the file, while they are written.
    int64_t part_bytes = 8 << 20;
    /// Parts sent at once; as many wait. With one for each open file that is the memory used.
    size_t threads = 8;
  };

  /// `clock` must outlive this.
  S3FileSystem(Options options, Clock& clock);

  /// Whether the bucket is there and lets itself be listed at `path`, and, when `writes`, be
  /// written to: found by beginning an upload and discarding it. Tries less long than others do.
  Status check(const std::string& path, bool writes);
  S3Client& client() { return client_; }

  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override;
  /// UNIMPLEMENTED: objects cannot be written to.
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override;
  Status create_dir(const std::string& path) override;
  /// Of one file, by copying.
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  /// More than anyone has.
  Result<int64_t> free_bytes(const std::string& path) override;
  bool renames_folders(const std::string&) const override { return false; }
  Status create_once(const std::string& path, std::string_view text) override;
  /// Aborts multipart uploads.
  Status discard_unfinished(const std::string& path) override;
  Result<std::string> read_file(const std::string& path) override;
  Status remove_tree(const std::string& path) override;

 private:
  const Options options_;
  Clock& clock_;
  S3Client client_;
  ThreadPool senders_;
};

}  // namespace tessera
