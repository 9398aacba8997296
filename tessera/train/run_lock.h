#pragma once

#include <string>
#include <utility>

#include "tessera/base/folder_lock.h"
#include "tessera/base/status.h"

namespace tessera {

/// Keeps a second run out of an output directory: two would remove each other's half-written
/// checkpoints and mix their metrics. Held by the open file `run.lock` in it, so that it ends with
/// the process, however that ends; the file stays. Move-only.
class RunLock {
 public:
  /// FAILED_PRECONDITION when another process holds it, with that one's number. `directory` must
  /// exist. A disk that knows no locks (some network ones) locks nothing.
  static Result<RunLock> take(const std::string& directory);

  /// Whether `directory` still has the file of a lock: not when it was removed during a run.
  static bool is_in(const std::string& directory);

 private:
  explicit RunLock(FolderLock lock) : lock_(std::move(lock)) {}

  FolderLock lock_;
};

}  // namespace tessera
