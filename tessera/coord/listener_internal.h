#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/base/thread.h"
#include "tessera/coord/mtls.h"

namespace tessera::coord {

/// Accepts connections and hands them on, at most so many at a time. gRPC's own listener has no
/// such limit, and shares a port in use instead of refusing it.
class Listener {
 public:
  /// Takes over a connected socket.
  using Taker = std::function<void(int socket)>;

  /// Port 0: any that is free. An error says which address could not be had, and why.
  static Result<std::unique_ptr<Listener>> open(const HostPort& address, size_t max_connections);
  ~Listener();

  int port() const { return port_; }
  void start(Taker take);
  void stop();

 private:
  explicit Listener(size_t max_connections) : max_connections_(max_connections) {}
  Status bind_all(const HostPort& address);
  void run();
  void accept_from(int listening);
  bool has_room();

  const size_t max_connections_;
  std::vector<int> sockets_;
  int port_ = 0;
  int stop_event_ = -1;
  Taker take_;
  std::unordered_set<ino_t> open_;  // of the accepted sockets, as far as is known
  size_t refused_ = 0;
  bool full_ = false;  // no descriptor was left for the last that came
  Thread thread_;
};

}  // namespace tessera::coord
