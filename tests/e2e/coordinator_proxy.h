#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "tessera/base/thread.h"

namespace tessera::e2e {

/// What becomes of the connections of a process with the coordinator.
enum class Cut {
  kNone,   ///< they are passed on
  kHeld,   ///< nothing gets through, and nothing ends: bytes wait, as with a cable that is out
  kReset,  ///< they end at once, and so do new ones
};

/// Stands between the processes of a run and its coordinator, on loopback: a port for each
/// process, whose connections may be cut. Thread-safe.
class CoordinatorProxy {
 public:
  /// Port i passes on to the address that stands in the file `targets`[i] when a connection comes.
  explicit CoordinatorProxy(std::vector<std::string> targets);
  ~CoordinatorProxy();
  CoordinatorProxy(const CoordinatorProxy&) = delete;
  CoordinatorProxy& operator=(const CoordinatorProxy&) = delete;

  int port(int process) const { return gates_[static_cast<size_t>(process)].port; }
  void set(int process, Cut cut) { gates_[static_cast<size_t>(process)].cut = cut; }
  /// Connections that were passed on.
  int passed() const { return passed_; }

 private:
  struct Gate {
    std::string target;
    int listener = -1, port = 0;
    std::atomic<Cut> cut = Cut::kNone;
  };
  struct Way;  // of a connection's bytes, from one end to the other
  struct Connection;
  void run();
  void accept_at(Gate& gate);
  void pass_on();

  std::vector<Gate> gates_;
  std::vector<Connection> connections_;  // the thread's
  std::atomic<int> passed_ = 0;
  std::atomic<bool> stopping_ = false;
  Thread thread_;
};

}  // namespace tessera::e2e
