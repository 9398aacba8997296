#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/data/token_store_manifest.h"

namespace tessera {

/// A file of a token store while it grows: buffered, its size and checksum known. One thread at a
/// time.
class StoredFileWriter {
 public:
  /// A new file.
  static Result<std::unique_ptr<StoredFileWriter>> create(FileSystem& files, std::string path);
  /// Goes on behind `written`; what stands after it is cut off. DATA_LOSS when the file is shorter.
  static Result<std::unique_ptr<StoredFileWriter>> go_on(FileSystem& files, std::string path,
                                                         const StoredFile& written);

  Status append(std::span<const std::byte> bytes);
  /// Returns once everything appended would survive a loss of power.
  Status sync();
  /// Call once, after sync().
  Status close() { return file_->close(); }
  /// After sync(): all of it.
  const StoredFile& written() const { return written_; }

 private:
  StoredFileWriter(std::unique_ptr<WritableFile> file, const StoredFile& written);
  Status flush();

  std::unique_ptr<WritableFile> file_;
  StoredFile written_;
  std::vector<std::byte> buffer_;
};

}  // namespace tessera
