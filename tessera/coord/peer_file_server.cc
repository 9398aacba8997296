#include <grpcpp/support/server_callback.h>

#include <map>
#include <mutex>

#include "absl/strings/str_split.h"
#include "tessera/base/thread.h"
#include "tessera/coord/grpc_serving_internal.h"
#include "tessera/coord/peer_files.grpc.pb.h"
#include "tessera/coord/peer_files.h"
#include "tessera/coord/peer_files_internal.h"

namespace tessera::coord {
namespace {

Status check_path(const std::string& path) {
  const bool inside = !path.empty() && path[0] != '/' && path.find('\0') == std::string::npos;
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (const std::string& part : parts) {
    if (!inside || part.empty() || part == "." || part == "..")
      return invalid_argument("'", path, "' is no path below the folder that is served");
  }
  return absl::OkStatus();
}

/// What is asked for, done with the files. Safe for any thread; of one file's parts one at a time
/// comes.
class Files {
 public:
  Files(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  Status answer(const wire::FileRequest& request, wire::FileReply* reply) {
    RETURN_IF_ERROR(check_path(request.path()));
    const std::string path = join_path(folder_, request.path());
    switch (request.operation_case()) {
      case wire::FileRequest::kRead:
        return read(path, request.read(), reply);
      case wire::FileRequest::kWrite:
        return write(path, request.write());
      case wire::FileRequest::kSize: {
        ASSIGN_OR_RETURN(const int64_t size, files_.file_size(path));
        reply->set_size(size);
        return absl::OkStatus();
      }
      case wire::FileRequest::OPERATION_NOT_SET:
        break;
    }
    return invalid_argument("a newer program asks for what this one cannot do");
  }

 private:
  struct Open {
    std::mutex mutex;
    std::unique_ptr<WritableFile> file;  // guarded by mutex, as the next
    int64_t size = 0;
  };

  Status read(const std::string& path, const wire::ReadPart& part, wire::FileReply* reply) {
    if (part.offset() < 0 || part.bytes() < 0 || part.bytes() > kMostPartBytes)
      return invalid_argument(path, ": ", part.bytes(), " bytes cannot be asked for at once");
    std::string* data = reply->mutable_data();
    data->resize(static_cast<size_t>(part.bytes()));
    return files_.read_range(path, part.offset(), std::as_writable_bytes(std::span(*data)));
  }

  // A first part begins the file, anew where it comes a second time; a later one that comes a
  // second time, as its answer was lost, has been written.
  Status write(const std::string& path, const wire::WritePart& part) {
    const int64_t end = part.offset() + std::ssize(part.data());
    const std::shared_ptr<Open> open = part.offset() == 0 ? begin(path) : find(path);
    if (!open) {
      const Result<int64_t> size = files_.file_size(path);
      if (part.close() && size.ok() && *size == end) return absl::OkStatus();
      return failed_precondition(path, ": was not begun here");
    }
    const std::lock_guard lock(open->mutex);
    if (!open->file) {
      ASSIGN_OR_RETURN(open->file, files_.create_file(path));
    }
    if (open->size != end || part.data().empty()) {
      if (part.offset() != open->size)
        return failed_precondition(path, ": has ", open->size, " bytes, and a part from ",
                                   part.offset(), " on was sent");
      RETURN_IF_ERROR(open->file->append(std::string_view(part.data())));
      open->size = end;
    }
    if (part.sync()) RETURN_IF_ERROR(open->file->sync());
    if (!part.close()) return absl::OkStatus();
    forget(path);
    return open->file->close();
  }

  std::shared_ptr<Open> begin(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return open_.insert_or_assign(path, std::make_shared<Open>()).first->second;
  }

  std::shared_ptr<Open> find(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(path);
    return found == open_.end() ? nullptr : found->second;
  }

  void forget(const std::string& path) {
    const std::lock_guard lock(mutex_);
    open_.erase(path);
  }

  FileSystem& files_;
  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Open>> open_;  // guarded by mutex_
};

class Service final : public wire::PeerFiles::CallbackService {
 public:
  Service(FileSystem& files, std::string folder) : files_(files, std::move(folder)) {}

  // Not on gRPC's own threads, which the coordinator's heartbeats need too: a disk may take long.
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context,
                                 const wire::FileRequest* request,
                                 wire::FileReply* reply) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    workers_.submit([this, request, reply, reactor] {
      const Status status = files_.answer(*request, reply);
      reply->set_code(static_cast<int>(status.code()));
      if (!status.ok()) {
        reply->set_message(std::string(status.message()));
        reply->clear_data();
      }
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  Files files_;
  ThreadPool workers_{"peer-files", 4, 1024};
};

class GrpcPeerFileServer final : public PeerFileServer {
 public:
  GrpcPeerFileServer(FileSystem& files, const Options& options) : service_(files, options.folder) {}
  ~GrpcPeerFileServer() override { serving_.reset(); }

  Status begin(const Options& options) {
    ASSIGN_OR_RETURN(serving_, GrpcServing::listen({.name = "peer files",
                                                    .bind = options.bind,
                                                    .max_connections = 1024,
                                                    .max_request_bytes = kMostPartBytes + (1 << 20),
                                                    .mtls = options.mtls}));
    return serving_->serve(service_);
  }
  int port() const override { return serving_->port(); }

 private:
  Service service_;
  std::unique_ptr<GrpcServing> serving_;
};

}  // namespace

Result<std::unique_ptr<PeerFileServer>> PeerFileServer::start(FileSystem& files, Options options) {
  auto server = std::make_unique<GrpcPeerFileServer>(files, options);
  RETURN_IF_ERROR(server->begin(options));
  return server;
}

}  // namespace tessera::coord
