#include "tessera/coord/server.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <atomic>

#include "tessera/base/log.h"
#include "tessera/base/random_id.h"
#include "tessera/coord/coord.grpc.pb.h"
#include "tessera/coord/grpc_serving_internal.h"
#include "tessera/coord/loop_internal.h"
#include "tessera/coord/mtls_watch.h"

namespace tessera::coord {
namespace {

class Call final : public grpc::ServerUnaryReactor, public PendingCall {
 public:
  Call(Loop& loop, CallId id, grpc::ByteBuffer* reply) : loop_(loop), id_(id), reply_(reply) {}

  void finish(const grpc::ByteBuffer& reply) override {
    *reply_ = reply;
    Finish(grpc::Status::OK);
  }
  void finish_without(const grpc::Status& status) override { Finish(status); }

  void OnCancel() override { loop_.drop(id_); }
  void OnDone() override { delete this; }

 private:
  Loop& loop_;
  const CallId id_;
  grpc::ByteBuffer* const reply_;
};

class Service final
    : public wire::Coordinator::WithRawCallbackMethod_Call<wire::Coordinator::Service> {
 public:
  explicit Service(Loop& loop) : loop_(loop) {}

  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext*, const grpc::ByteBuffer* bytes,
                                 grpc::ByteBuffer* reply) override {
    const CallId id = next_id_++;
    auto* call = new coord::Call(loop_, id, reply);
    wire::Request request;
    grpc::ByteBuffer copy = *bytes;  // reading takes it apart
    const grpc::Status parsed =
        grpc::SerializationTraits<wire::Request>::Deserialize(&copy, &request);
    if (!parsed.ok()) {
      call->finish_without(
          grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the request cannot be read"));
      return call;
    }
    loop_.submit(id, call, std::move(request));
    return call;
  }

 private:
  Loop& loop_;
  std::atomic<CallId> next_id_{1};
};

// Reads the journal into the state. A journal of a run that has ended is begun anew.
Result<std::unique_ptr<State>> restored(const StateOptions& options, Journal* journal,
                                        const Clock& clock) {
  auto fresh = [&] { return std::make_unique<State>(options, random_id(), clock.elapsed()); };
  std::unique_ptr<State> state = fresh();
  if (!journal) {
    state->take_records();
    return state;
  }
  const std::vector<wire::Batch> stored = journal->take_stored();
  for (const wire::Batch& batch : stored) {
    RETURN_IF_ERROR(annotate(state->restore(batch), "journal"));
  }
  if (journal->dropped_bytes() > 0) {
    log_warning("coordinator: dropped ", journal->dropped_bytes(),
                " bytes of an incomplete batch at the journal's end, of which nobody was told");
  }
  if (!state->failure().ok() || state->all_gone()) {
    log_info("coordinator: the journal is of a run that has ended",
             state->failure().ok() ? "" : ": ", from_absl(state->failure().message()),
             "; beginning anew");
    state = fresh();
  } else if (!stored.empty()) {
    log_info("coordinator: restored ", state->key_values().all().size(), " key-values and ",
             state->alive(), " processes from the journal");
  }
  RETURN_IF_ERROR(journal->rewrite(state->snapshot()));
  state->take_records();
  return state;
}

class GrpcServer final : public Server {
 public:
  // Calls that are still under way end before the loop that they refer to goes.
  ~GrpcServer() override {
    if (serving_) serving_->stop_listening();
    if (loop_) loop_->stop();
    serving_.reset();
  }

  Status begin(const ServerOptions& options, FileSystem& files, const Clock& clock) {
    if (options.processes < 1) {
      return invalid_argument("--processes is ", options.processes, "; required: at least 1");
    }
    if (options.heartbeat_timeout < absl::Milliseconds(100)) {
      return invalid_argument("the heartbeat timeout is ",
                              absl::FormatDuration(options.heartbeat_timeout),
                              "; required: at least 100ms");
    }
    constexpr int64_t kOverhead = int64_t{1} << 20;
    ASSIGN_OR_RETURN(serving_,
                     GrpcServing::listen({.name = "coordinator",
                                          .bind = options.bind,
                                          .max_connections = options.max_connections,
                                          .max_request_bytes = options.max_value_bytes + kOverhead,
                                          .mtls = options.mtls}));
    std::unique_ptr<Journal> journal;
    if (!options.journal.empty()) {
      ASSIGN_OR_RETURN(journal, Journal::open(files, options.journal));
    }
    const StateOptions state_options = {
        .processes = options.processes,
        .recoverable = options.recoverable,
        .heartbeat_timeout = options.heartbeat_timeout,
        .limits = {.value_bytes = options.max_value_bytes, .total_bytes = options.max_total_bytes}};
    ASSIGN_OR_RETURN(std::unique_ptr<State> state, restored(state_options, journal.get(), clock));
    loop_ = std::make_unique<Loop>(std::move(state), std::move(journal), clock);
    service_ = std::make_unique<Service>(*loop_);
    RETURN_IF_ERROR(serving_->serve(*service_));
    watch_ = std::make_unique<MtlsWatch>(options.mtls);
    return absl::OkStatus();
  }

  int port() const override { return serving_->port(); }
  int alive() const override { return loop_->alive(); }
  uint64_t incarnation(int process) const override { return loop_->incarnation(process); }
  bool is_dead(int process) const override { return loop_->is_dead(process); }
  bool all_gone() const override { return loop_->all_gone(); }
  Status failure() const override { return loop_->failure(); }
  Status broken() const override { return loop_->broken(); }
  void process_ended(int process, const std::string& how) override {
    loop_->process_ended(process, how);
  }

 private:
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<GrpcServing> serving_;
  std::unique_ptr<MtlsWatch> watch_;
};

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options, FileSystem& files,
                                              const Clock& clock) {
  auto server = std::make_unique<GrpcServer>();
  RETURN_IF_ERROR(server->begin(options, files, clock));
  return server;
}

}  // namespace tessera::coord
