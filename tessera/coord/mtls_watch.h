#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"
#include "tessera/base/thread.h"
#include "tessera/coord/mtls.h"

namespace tessera::coord {

/// Reads the files of a running coordinator again and again, as gRPC does, which refuses every new
/// connection and says nothing where they are damaged, do not fit together, or have run out: a
/// warning names the file. Bad ones are warned of at the second look, since files that are rotated
/// do not fit together for a moment. Starts nothing without files.
class MtlsWatch {
 public:
  explicit MtlsWatch(MtlsConfig config, absl::Duration interval = absl::Seconds(5));
  ~MtlsWatch();

 private:
  void run();
  void look();

  const MtlsConfig config_;
  const absl::Duration interval_;
  Status seen_, warned_;  // the thread's own
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;  // guarded by mutex_
  Thread thread_;
};

}  // namespace tessera::coord
