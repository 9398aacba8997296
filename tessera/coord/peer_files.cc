#include "tessera/coord/peer_files.h"

#include <arpa/inet.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "tessera/base/limited_filesystem.h"
#include "tessera/coord/grpc_credentials_internal.h"
#include "tessera/coord/peer_files.grpc.pb.h"
#include "tessera/coord/peer_files_internal.h"

namespace tessera::coord {
namespace {

constexpr auto kCallTimeout = std::chrono::seconds(60);
constexpr int kTries = 4;

/// The connection. Safe for any thread.
class Connection {
 public:
  Connection(std::string address, const MtlsConfig& mtls) : address_(std::move(address)) {
    quiet_grpc();
    stub_ = wire::PeerFiles::NewStub(
        grpc::CreateCustomChannel(address_, channel_credentials(mtls), channel_arguments()));
  }

  // Every request may be sent twice (peer_files.proto).
  Result<wire::FileReply> call(const wire::FileRequest& request) {
    grpc::Status sent;
    for (int tries = 0; tries < kTries; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100 << tries));
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
      wire::FileReply reply;
      sent = stub_->Call(&context, request, &reply);
      if (sent.ok()) {
        if (reply.code() == 0) return reply;
        return Status(static_cast<absl::StatusCode>(reply.code()),
                      str_cat("on ", address_, ": ", reply.message()));
      }
      if (sent.error_code() != grpc::StatusCode::UNAVAILABLE) break;
    }
    return absl::UnavailableError(str_cat("the process that serves its files at ", address_,
                                          " does not answer: ", sent.error_message()));
  }

  const std::string& address() const { return address_; }

 private:
  const std::string address_;
  std::unique_ptr<wire::PeerFiles::Stub> stub_;
};

class PeerReadableFile final : public ReadableFile {
 public:
  PeerReadableFile(std::shared_ptr<Connection> connection, std::string path, int64_t size)
      : connection_(std::move(connection)), path_(std::move(path)), size_(size) {}

  int64_t size_bytes() const override { return size_; }

  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const size_t bytes = std::min(out.size(), static_cast<size_t>(kMostPartBytes));
      wire::FileRequest request;
      request.set_path(path_);
      request.mutable_read()->set_offset(offset);
      request.mutable_read()->set_bytes(static_cast<int64_t>(bytes));
      ASSIGN_OR_RETURN(const wire::FileReply reply, connection_->call(request));
      if (reply.data().size() != bytes)
        return internal_error(connection_->address(), ", ", path_, ": got ", reply.data().size(),
                              " bytes instead of ", bytes);
      std::memcpy(out.data(), reply.data().data(), bytes);
      out = out.subspan(bytes);
      offset += static_cast<int64_t>(bytes);
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<Connection> connection_;
  const std::string path_;
  const int64_t size_;
};

/// Sends what was appended in parts as large as a message may be.
class PeerWritableFile final : public WritableFile {
 public:
  PeerWritableFile(std::shared_ptr<Connection> connection, const std::string& path)
      : connection_(std::move(connection)) {
    request_.set_path(path);
    request_.mutable_write()->set_offset(0);
  }

  Status append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      std::string& data = *request_.mutable_write()->mutable_data();
      const size_t room = static_cast<size_t>(kMostPartBytes) - data.size();
      const std::span<const std::byte> part = bytes.first(std::min(room, bytes.size()));
      data.append(reinterpret_cast<const char*>(part.data()), part.size());
      bytes = bytes.subspan(part.size());
      if (std::ssize(data) == kMostPartBytes) RETURN_IF_ERROR(send());
    }
    return absl::OkStatus();
  }

  // What comes after is a file's end, nearly always: one message does both.
  Status sync() override {
    request_.mutable_write()->set_sync(true);
    return absl::OkStatus();
  }

  Status close() override {
    request_.mutable_write()->set_close(true);
    return send();
  }

 private:
  Status send() {
    RETURN_IF_ERROR(connection_->call(request_).status());
    wire::WritePart& write = *request_.mutable_write();
    write.set_offset(write.offset() + std::ssize(write.data()));
    write.clear_data();
    return absl::OkStatus();
  }

  const std::shared_ptr<Connection> connection_;
  wire::FileRequest request_;
};

class PeerFiles final : public LimitedFileSystem {
 public:
  PeerFiles(const std::string& address, const MtlsConfig& mtls)
      : connection_(std::make_shared<Connection>(address, mtls)) {}

  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override {
    ASSIGN_OR_RETURN(const FileInfo info, stat(path));
    return std::make_unique<PeerReadableFile>(connection_, path, info.size_bytes);
  }
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override {
    return std::make_unique<PeerWritableFile>(connection_, path);
  }
  Result<FileInfo> stat(const std::string& path) override {
    wire::FileRequest request;
    request.set_path(path);
    request.mutable_size();
    ASSIGN_OR_RETURN(const wire::FileReply reply, connection_->call(request));
    return FileInfo{.name = base_name(path), .size_bytes = reply.size()};
  }

 private:
  Status refuse(const std::string& path) const override {
    return absl::UnimplementedError(
        str_cat(path, " on ", connection_->address(), ": only that process can do this"));
  }

  const std::shared_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<FileSystem> open_peer_files(const std::string& address, const MtlsConfig& mtls) {
  return std::make_unique<PeerFiles>(address, mtls);
}

Result<std::string> own_address_towards(const std::string& destination) {
  ASSIGN_OR_RETURN(const HostPort address, parse_host_port(destination));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) return not_found(address.host, ": ", gai_strerror(failed));
  std::string own;
  for (const addrinfo* one = found; one && own.empty(); one = one->ai_next) {
    const int socket = ::socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) continue;
    sockaddr_storage local = {};
    socklen_t length = sizeof(local);
    char text[NI_MAXHOST] = {};
    // A datagram socket that is connected has chosen its interface, and nothing was sent.
    if (connect(socket, one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(socket, reinterpret_cast<sockaddr*>(&local), &length) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&local), length, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      own = text;
    }
    close(socket);
  }
  freeaddrinfo(found);
  if (own.empty()) return absl::UnavailableError(str_cat("no route to ", destination));
  return own;
}

}  // namespace tessera::coord
