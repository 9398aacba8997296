#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/mtls.h"

namespace tessera::coord {

struct ServerOptions {
  int processes = 1;
  /// Where to listen; port 0: any that is free. Loopback unless said otherwise.
  std::string bind = "127.0.0.1:0";
  bool recoverable = false;  ///< The others go on when one dies, and it may come back.
  absl::Duration heartbeat_timeout = absl::Seconds(100);
  /// Folder in which all that processes were told outlives this coordinator; empty: nothing does.
  std::string journal;
  MtlsConfig mtls;
  int64_t max_connections = 16384;
  int64_t max_value_bytes = int64_t{16} << 20;
  int64_t max_total_bytes = int64_t{1} << 30;  ///< of key-values
};

/// A coordinator that listens. Safe for any thread.
class Server {
 public:
  /// Errors: a wrong option or certificate, an address that cannot be had, a journal that is
  /// damaged or somebody else's. `files` and `clock` outlive it.
  static Result<std::unique_ptr<Server>> start(const ServerOptions& options, FileSystem& files,
                                               const Clock& clock);
  virtual ~Server() = default;

  virtual int port() const = 0;
  /// Processes that are connected.
  virtual int alive() const = 0;
  /// Of a process's present or last start; 0 before the first.
  virtual uint64_t incarnation(int process) const = 0;
  /// Whether that one was declared dead.
  virtual bool is_dead(int process) const = 0;
  /// Whether some came, and all of them left or died.
  virtual bool all_gone() const = 0;
  /// The cluster's failure, which every process is told.
  virtual Status failure() const = 0;
  /// Why it stopped by itself (its journal cannot be written); else OK.
  virtual Status broken() const = 0;
  /// Tells all processes that this one has ended, and how ("was ended by signal 9"), without
  /// waiting for its heartbeats to stay away. Nothing where it had left them in order.
  virtual void process_ended(int process, const std::string& how) = 0;
};

}  // namespace tessera::coord
