#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tessera/base/status.h"

namespace tessera {

/// A file mapped into memory, read only. Move-only; any thread may read. The file must not be cut
/// short while it is mapped: to read past its new end ends the process, with exit code 1 and a
/// message that names it.
class MappedFile {
 public:
  /// NOT_FOUND, PERMISSION_DENIED or INTERNAL, naming the path. An empty file is mapped as no
  /// bytes.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace tessera
