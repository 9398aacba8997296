#pragma once

#include <functional>
#include <memory>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/coord/client.h"
#include "tessera/coord/cluster.h"
#include "tessera/coord/server.h"

namespace tessera::coord {

/// This process's place in a cluster: its client, and in process 0 the coordinator too, unless that
/// runs by itself. `files` and `clock` outlive it.
class Membership {
 public:
  /// Serves where it has to, registers, and waits until all have come. `on_failure`, `on_change`:
  /// see ClientOptions.
  static Result<std::unique_ptr<Membership>> join(
      const ClusterConfig& config, const ClusterSpec& spec, FileSystem& files, Clock& clock,
      std::function<void(const Status&)> on_failure = {},
      std::function<void(const std::vector<MemberChange>&)> on_change = {});
  Client& client() { return *client_; }
  /// Leaves with all the others. A process that serves goes on until all have left, for at most
  /// `timeout`.
  Status leave(absl::Duration timeout = absl::Seconds(300));

 private:
  explicit Membership(Clock& clock) : clock_(clock) {}

  Clock& clock_;
  std::unique_ptr<Server> server_;  // before the client, which needs it until its end
  std::unique_ptr<Client> client_;
};

/// Where process 0 listens for others that connect to `coordinator`: there, when the host is
/// loopback or an address of one of this machine's interfaces; else on all of them, since a host's
/// own name is often loopback to itself.
Result<std::string> default_bind_address(const std::string& coordinator);

/// A warning where an address that other machines reach is served without mTLS.
void warn_of_plaintext(const std::string& bind, const MtlsConfig& mtls);

}  // namespace tessera::coord
