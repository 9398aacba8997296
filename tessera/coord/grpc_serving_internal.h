#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>

#include "tessera/base/status.h"
#include "tessera/coord/listener_internal.h"
#include "tessera/coord/mtls.h"

namespace tessera::coord {

/// A gRPC server behind our own listener, with what all of ours have in common: limits, timeouts,
/// and looking whether the other end is still there.
class GrpcServing {
 public:
  struct Options {
    std::string name;  ///< for the memory that its calls may take together
    std::string bind;  ///< "host:port"; port 0: any that is free
    int64_t max_connections = 0;
    int64_t max_request_bytes = 0;
    MtlsConfig mtls;
  };

  /// Listens, and answers nothing before serve().
  static Result<std::unique_ptr<GrpcServing>> listen(const Options& options);
  ~GrpcServing();

  /// `service` outlives this.
  Status serve(grpc::Service& service);
  /// Takes no further connections.
  void stop_listening() { listener_->stop(); }
  int port() const { return listener_->port(); }

 private:
  explicit GrpcServing(Options options) : options_(std::move(options)) {}

  const Options options_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace tessera::coord
