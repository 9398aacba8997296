#pragma once

#include <string>

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

  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace tessera
