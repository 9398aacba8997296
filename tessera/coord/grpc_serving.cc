#include <grpcpp/resource_quota.h>
#include <sys/resource.h>

#include <chrono>

#include "tessera/coord/grpc_credentials_internal.h"
#include "tessera/coord/grpc_serving_internal.h"

namespace tessera::coord {
namespace {

void raise_open_files_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Result<std::unique_ptr<GrpcServing>> GrpcServing::listen(const Options& options) {
  RETURN_IF_ERROR(options.mtls.check_files());
  ASSIGN_OR_RETURN(const HostPort address, parse_host_port(options.bind));
  quiet_grpc();
  raise_open_files_limit();
  std::unique_ptr<GrpcServing> serving(new GrpcServing(options));
  ASSIGN_OR_RETURN(serving->listener_,
                   Listener::open(address, static_cast<size_t>(options.max_connections)));
  return serving;
}

GrpcServing::~GrpcServing() {
  if (listener_) listener_->stop();
  if (!server_) return;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  server_->Wait();
}

Status GrpcServing::serve(grpc::Service& service) {
  constexpr int kConcurrentCalls = 256;
  constexpr int64_t kMemory = int64_t{2} << 30;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.max_request_bytes));
  builder.SetMaxSendMessageSize(-1);
  grpc::ResourceQuota quota(options_.name);
  quota.Resize(kMemory);
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kConcurrentCalls);
  // A connection that says nothing is closed.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  // One whose other end has gone without a word is noticed, and clients may look as well.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      server_credentials(options_.mtls));
  server_ = builder.BuildAndStart();
  if (!server_) return internal_error("gRPC cannot start a server");
  listener_->start([this](int socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = socket;
    acceptor_->HandleNewConnection(&connection);
  });
  return absl::OkStatus();
}

}  // namespace tessera::coord
