#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"

namespace tessera {

/// The bytes of a file from its beginning on, unpacked where it is packed. One thread at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills a part of `out`, which is not empty, and returns how much; 0 only at the end. DATA_LOSS,
  /// naming the file, when what is packed is damaged or cut short.
  virtual Result<size_t> read(std::span<char> out) = 0;
  /// Bytes of the file, as it lies on the disk, that were read.
  virtual int64_t file_bytes() const = 0;
};

/// A file as it is, or unpacked where its name ends with .gz (gzip, of any number of members) or
/// .zst (Zstandard, of any number of frames). Borrows `files`.
Result<std::unique_ptr<ByteSource>> open_bytes(FileSystem& files, const std::string& path);

/// "a.txt.gz" → "a.txt": the name without what says how it is packed.
std::string_view unpacked_name(std::string_view path);

}  // namespace tessera
