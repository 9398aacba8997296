#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>

#include "tessera/coord/mtls.h"

namespace tessera::coord {

/// Credentials whose files gRPC reads again each second, for connections made from then on;
/// plaintext where the config has no files.
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const MtlsConfig& config);
std::shared_ptr<grpc::ServerCredentials> server_credentials(const MtlsConfig& config);

/// What all our connections have in common: messages of any size, straight to their destination
/// whatever http_proxy says, and a look now and then whether the other end is still there.
grpc::ChannelArguments channel_arguments();

/// gRPC writes its own lines to stderr for every connection that fails. Ours say it in words, so
/// its lines become debug lines. Once a process; later calls do nothing.
void quiet_grpc();

}  // namespace tessera::coord
