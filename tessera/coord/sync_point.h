#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "tessera/base/status.h"
#include "tessera/base/thread.h"
#include "tessera/coord/client.h"

namespace tessera::coord {

/// Lets all processes stop at one step, as when one is told that its machine will be taken away:
/// whoever calls notice() makes reached(step) true in every process at the same step, the first
/// that none has begun yet.
///
/// Every process makes one, with the same name, and calls reached() once for each step, in order,
/// from one thread. Steps are not negative, and may begin anywhere. notice() may come from any
/// thread, also before the first step. Once: a second notice changes nothing.
class SyncPoint {
 public:
  /// `client` outlives this. Names are used once in a cluster.
  SyncPoint(Client& client, std::string name);
  ~SyncPoint();
  SyncPoint(const SyncPoint&) = delete;
  SyncPoint& operator=(const SyncPoint&) = delete;

  /// Tells all. An error is the client's.
  Status notice();
  /// To be called before the step begins. While the processes agree it waits. An error: the
  /// agreement failed, since one of them died.
  Result<bool> reached(int64_t step);

 private:
  void listen();
  Result<int64_t> agree();

  Client& client_;
  const std::string name_;
  std::mutex mutex_;  // held while the processes agree, so that none begins a step meanwhile
  std::condition_variable begun_;
  int64_t last_step_ = -1;  // guarded by mutex_, as the next two; -1: none was asked about
  int64_t target_ = -1;     // where all stop; -1: nowhere yet
  Status failed_;
  std::atomic<bool> stopping_{false};
  Thread thread_;
};

}  // namespace tessera::coord
