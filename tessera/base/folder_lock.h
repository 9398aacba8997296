#pragma once

#include <optional>
#include <string>

#include "tessera/base/status.h"

namespace tessera {

/// Keeps other processes out of a folder of the local disk: a lock on the file `name` in it, which
/// the system gives up when the process ends, however that ends. Move-only.
class FolderLock {
 public:
  /// Creates the file where it is missing. ALREADY_EXISTS when another holds the lock, with that
  /// one's process, where it is known, as the whole message: "process 123"; else errors name the
  /// file. A disk that knows no locks (some network ones) locks nothing.
  static Result<FolderLock> take(const std::string& folder, const std::string& name);

  /// Whether somebody holds it; nothing where there is no such file, or the disk knows no locks.
  static std::optional<bool> is_held(const std::string& folder, const std::string& name);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace tessera
