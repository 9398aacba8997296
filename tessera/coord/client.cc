#include "tessera/coord/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "tessera/base/log.h"
#include "tessera/base/random_id.h"
#include "tessera/base/strings.h"
#include "tessera/base/thread.h"
#include "tessera/coord/coord.grpc.pb.h"
#include "tessera/coord/grpc_credentials_internal.h"
#include "tessera/coord/state.h"

namespace tessera::coord {
namespace {

constexpr absl::Duration kLongestWait = absl::Hours(24);

std::string this_host() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) name[0] = '\0';
  return str_cat(name, ", process id ", getpid());
}

int64_t to_ms(absl::Duration timeout) {
  constexpr absl::Duration kMost = absl::Hours(24 * 365);
  return absl::ToInt64Milliseconds(std::clamp(timeout, absl::ZeroDuration(), kMost));
}

class GrpcClient final : public Client {
 public:
  GrpcClient(ClientOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock), incarnation_(random_id()) {}

  ~GrpcClient() override {
    stop();
    heartbeats_.join();
    watch_.join();
  }

  Status begin() {
    if (options_.processes < 1 || options_.process < 0 || options_.process >= options_.processes) {
      return invalid_argument("process ", options_.process, " of ", options_.processes,
                              " was given; required: from 0 to the number of processes less one");
    }
    RETURN_IF_ERROR(options_.mtls.check_files());
    ASSIGN_OR_RETURN(const HostPort address, parse_host_port(options_.coordinator));
    quiet_grpc();
    const absl::Duration end = clock_.elapsed() + options_.connect_timeout;
    RETURN_IF_ERROR(reach(address, end));
    open_channel(address);
    RETURN_IF_ERROR(register_self(end));
    heartbeats_ = Thread("coord-heartbeat", [this] { beat(); });
    wire::Request ready;
    ready.mutable_wait_ready()->set_timeout_ms(
        to_ms(std::max(end - clock_.elapsed(), absl::ZeroDuration())));
    RETURN_IF_ERROR(call(ready).status());
    watch_ = Thread("coord-watch", [this] { watch(); });
    return absl::OkStatus();
  }

  int process() const override { return options_.process; }
  int processes() const override { return options_.processes; }
  uint64_t incarnation() const override { return incarnation_; }
  absl::Duration heartbeat_timeout() const override { return heartbeat_timeout_; }
  bool recoverable() const override { return recoverable_; }
  Status failure() const override {
    std::lock_guard lock(mutex_);
    return failure_;
  }

  Status insert(const std::string& key, const std::string& value, bool overwrite) override {
    wire::Request request;
    request.mutable_insert()->set_key(key);
    request.mutable_insert()->set_value(value);
    request.mutable_insert()->set_overwrite(overwrite);
    return call(request).status();
  }

  Result<std::string> get(const std::string& key, absl::Duration timeout) override {
    wire::Request request;
    request.mutable_get()->set_key(key);
    // 0 is try_get's, which has another error.
    request.mutable_get()->set_timeout_ms(std::max<int64_t>(1, to_ms(timeout)));
    ASSIGN_OR_RETURN(wire::Reply reply, call(request));
    return std::move(*reply.mutable_value());
  }

  Result<std::string> try_get(const std::string& key) override {
    wire::Request request;
    request.mutable_get()->set_key(key);
    ASSIGN_OR_RETURN(wire::Reply reply, call(request));
    return std::move(*reply.mutable_value());
  }

  Result<int64_t> increment(const std::string& key, int64_t by) override {
    wire::Request request;
    request.mutable_increment()->set_key(key);
    request.mutable_increment()->set_by(by);
    ASSIGN_OR_RETURN(const wire::Reply reply, call(request));
    return reply.number();
  }

  Result<std::vector<std::pair<std::string, std::string>>> list(
      const std::string& prefix) override {
    wire::Request request;
    request.mutable_list()->set_prefix(prefix);
    ASSIGN_OR_RETURN(wire::Reply reply, call(request));
    std::vector<std::pair<std::string, std::string>> pairs;
    for (wire::Pair& pair : *reply.mutable_pairs()) {
      pairs.emplace_back(std::move(*pair.mutable_key()), std::move(*pair.mutable_value()));
    }
    return pairs;
  }

  Result<int64_t> erase(const std::string& key) override { return erase(key, false); }
  Result<int64_t> erase_prefix(const std::string& prefix) override { return erase(prefix, true); }

  Status barrier(const std::string& id, absl::Duration timeout,
                 const std::vector<int>& processes) override {
    wire::Request request;
    request.mutable_barrier()->set_id(id);
    request.mutable_barrier()->set_timeout_ms(to_ms(timeout));
    for (const int process : processes) request.mutable_barrier()->add_processes(process);
    return call(request).status();
  }

  Result<std::vector<BarrierArrival>> timed_barrier(const std::string& id, absl::Duration timeout,
                                                    const std::vector<int>& processes) override {
    wire::Request request;
    request.mutable_barrier()->set_id(id);
    request.mutable_barrier()->set_timeout_ms(to_ms(timeout));
    request.mutable_barrier()->set_want_arrivals(true);
    for (const int process : processes) request.mutable_barrier()->add_processes(process);
    ASSIGN_OR_RETURN(const wire::Reply reply, call(request));
    std::vector<BarrierArrival> arrivals;
    for (const wire::Arrival& arrival : reply.arrivals()) {
      arrivals.push_back({arrival.process(), absl::Milliseconds(arrival.after_first_ms())});
    }
    return arrivals;
  }

  Status cancel_barrier(const std::string& id) override {
    wire::Request request;
    request.mutable_cancel_barrier()->set_id(id);
    return call(request).status();
  }

  Result<LiveSet> live_set(const std::vector<int>& processes, absl::Duration timeout) override {
    wire::Request request;
    wire::LiveSet& operation = *request.mutable_live_set();
    for (const int process : processes) operation.add_processes(process);
    if (timeout != absl::InfiniteDuration()) {
      operation.set_timeout_ms(std::max<int64_t>(1, to_ms(timeout)));
    }
    ASSIGN_OR_RETURN(const wire::Reply reply, call(request));
    LiveSet set = {.processes = {}, .round = reply.round()};
    for (const wire::Member& member : reply.members()) {
      set.processes.push_back({member.process(), member.incarnation()});
    }
    return wait_until_told(reply.version(), std::move(set));
  }

  Status report_error(const Status& error) override {
    wire::Request request;
    request.mutable_report_error()->set_code(static_cast<int>(error.code()));
    request.mutable_report_error()->set_message(std::string(from_absl(error.message())));
    const Status answered = call(request).status();
    // Told to this process as well, the error may come back before the answer, which it cuts off.
    const Status told = failure();
    const bool came_back = told.code() == error.code() &&
                           from_absl(told.message()).ends_with(from_absl(error.message()));
    return came_back ? absl::OkStatus() : answered;
  }

  Status declare_dead(const ProcessId& id, const std::string& why) override {
    wire::Request request;
    request.mutable_declare_dead()->set_process(id.process);
    request.mutable_declare_dead()->set_incarnation(id.incarnation);
    request.mutable_declare_dead()->set_why(why);
    const Status answered = call(request).status();
    // Of oneself the answer may be that one is dead.
    return id == ProcessId{process(), incarnation_} ? absl::OkStatus() : answered;
  }

  Status shutdown(absl::Duration timeout) override {
    Status status;
    if (!recoverable_) status = barrier("tessera/shutdown", timeout, {});
    wire::Request request;
    request.mutable_leave();
    {
      // From here on a refused heartbeat is no failure.
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    const Status left = call(request).status();
    stop();
    return status.ok() ? left : status;
  }

 private:
  // Connecting.

  /// Tries until something answers; what will not get better by waiting is an error at once.
  Status reach(const HostPort& address, absl::Duration end) {
    absl::Duration pause = absl::Milliseconds(50);
    bool told = false;
    while (true) {
      const absl::Duration left = end - clock_.elapsed();
      const absl::Duration most = std::clamp(left, absl::Milliseconds(100), absl::Seconds(10));
      const Status status = probe(address, options_.mtls, most);
      if (status.ok() || status.code() != absl::StatusCode::kUnavailable) return status;
      if (clock_.elapsed() + pause >= end) {
        return absl::DeadlineExceededError(str_cat(
            "the coordinator could not be reached within ",
            absl::FormatDuration(options_.connect_timeout), ": ", from_absl(status.message()),
            ". See whether it was started, and whether a firewall lets the port through."));
      }
      if (!told && clock_.elapsed() - (end - options_.connect_timeout) > absl::Seconds(5)) {
        told = true;
        log_info("waiting for the coordinator at ", options_.coordinator, ": ",
                 from_absl(status.message()));
      }
      clock_.sleep(pause);
      pause = std::min(pause * 2, absl::Duration(absl::Seconds(1)));
    }
  }

  void open_channel(const HostPort& address) {
    grpc::ChannelArguments arguments = channel_arguments();
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    channel_ = grpc::CreateCustomChannel(to_string(address), channel_credentials(options_.mtls),
                                         arguments);
    stub_ = wire::Coordinator::NewStub(channel_);
  }

  Status register_self(absl::Duration end) {
    wire::Request request;
    request.mutable_register_()->set_processes(options_.processes);
    request.mutable_register_()->set_host(this_host());
    heartbeat_timeout_ = end - clock_.elapsed();  // until the coordinator says its own
    {
      std::lock_guard lock(mutex_);
      last_contact_ = clock_.elapsed();
    }
    ASSIGN_OR_RETURN(const wire::Reply reply, call(request));
    service_ = reply.service();
    heartbeat_timeout_ = absl::Milliseconds(reply.heartbeat_timeout_ms());
    recoverable_ = reply.recoverable();
    version_ = told_ = reply.version();
    return absl::OkStatus();
  }

  // Calls.

  Result<int64_t> erase(const std::string& key, bool prefix) {
    wire::Request request;
    request.mutable_erase()->set_key(key);
    request.mutable_erase()->set_prefix(prefix);
    ASSIGN_OR_RETURN(const wire::Reply reply, call(request));
    return reply.number();
  }

  /// Sends the request until there is a reply, and gives that where its status is OK.
  Result<wire::Reply> call(wire::Request& request) {
    wire::Caller& caller = *request.mutable_caller();
    {
      std::lock_guard lock(mutex_);
      RETURN_IF_ERROR(failure_);
      caller.set_sequence(++last_sequence_);
      if (is_done_once(request)) open_calls_.insert(caller.sequence());
    }
    Result<wire::Reply> reply = call_until_answered(request);
    std::lock_guard lock(mutex_);
    open_calls_.erase(caller.sequence());
    return reply;
  }

  Result<wire::Reply> call_until_answered(wire::Request& request) {
    absl::Duration pause = absl::Milliseconds(20);
    while (true) {
      wire::Reply reply;
      const grpc::Status sent = send(request, &reply, kLongestWait);
      if (sent.ok() && !reply.again()) {
        const Status status = status_of(reply);
        if (reply.fenced() && !request.has_register_() && !request.has_leave()) fail(status);
        if (!status.ok()) return status;
        return reply;
      }
      RETURN_IF_ERROR(failure());
      const grpc::StatusCode code = sent.error_code();
      if (code == grpc::StatusCode::RESOURCE_EXHAUSTED ||
          code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::UNIMPLEMENTED) {
        return Status(static_cast<absl::StatusCode>(code),
                      str_cat("the coordinator at ", options_.coordinator,
                              " does not take the call: ", sent.error_message()));
      }
      {
        std::unique_lock lock(mutex_);
        if (clock_.elapsed() - last_contact_ > heartbeat_timeout_) {
          lock.unlock();
          fail(lost(sent.error_message()));
          return failure();
        }
        stopped_.wait_for(lock, absl::ToChronoMilliseconds(pause), [&] { return stopping_; });
        if (stopping_) return absl::CancelledError("the client stops");
      }
      pause = std::min(pause * 2, absl::Duration(absl::Seconds(1)));
    }
  }

  /// One attempt.
  grpc::Status send(wire::Request& request, wire::Reply* reply, absl::Duration timeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    wire::Caller& caller = *request.mutable_caller();
    caller.set_process(options_.process);
    caller.set_incarnation(incarnation_);
    {
      std::lock_guard lock(mutex_);
      if (stopping_ || !failure_.ok()) return grpc::Status::CANCELLED;
      caller.set_service(service_);
      caller.set_oldest_open(open_calls_.empty() ? last_sequence_ + 1 : *open_calls_.begin());
      contexts_.insert(&context);
    }
    const grpc::Status status = stub_->Call(&context, request, reply);
    std::lock_guard lock(mutex_);
    contexts_.erase(&context);
    if (status.ok()) last_contact_ = clock_.elapsed();
    return status;
  }

  Status lost(std::string why) const {
    // In words, where words can be found.
    const Result<HostPort> address = parse_host_port(options_.coordinator);
    const Status probed = probe(*address, options_.mtls, absl::Seconds(2));
    if (!probed.ok()) why = std::string(from_absl(probed.message()));
    return absl::UnavailableError(str_cat(
        "the coordinator at ", options_.coordinator, " has not answered for ",
        absl::FormatDuration(heartbeat_timeout_), ": it died, was preempted, or the network failed",
        why.empty() ? "" : str_cat(" (", why, ")"),
        ". Where it runs with --journal, start it again within that time next time."));
  }

  // Background.

  void beat() {
    const absl::Duration interval =
        std::clamp(heartbeat_timeout_ / 5, absl::Milliseconds(20), absl::Seconds(10));
    absl::Duration pause = interval;
    while (wait(pause)) {
      wire::Request request;
      request.mutable_heartbeat();
      wire::Reply reply;
      const absl::Duration timeout = std::max(interval, absl::Duration(absl::Milliseconds(500)));
      const grpc::Status sent = send(request, &reply, timeout);
      if (sent.ok()) {
        if (reply.fenced()) return fail(status_of(reply));
        pause = interval;
        continue;
      }
      pause = std::min(interval, absl::Duration(absl::Milliseconds(500)));
      // Judged only after an attempt: this process itself may have been stopped for long.
      std::unique_lock lock(mutex_);
      const absl::Duration silent = clock_.elapsed() - last_contact_;
      lock.unlock();
      if (silent > heartbeat_timeout_) return fail(lost(sent.error_message()));
    }
  }

  /// Gives `set` once on_change was told of all up to `version`.
  Result<LiveSet> wait_until_told(uint64_t version, LiveSet set) {
    std::unique_lock lock(mutex_);
    told_changed_.wait(lock, [&] { return told_ >= version || stopping_ || !failure_.ok(); });
    if (told_ >= version) return set;
    RETURN_IF_ERROR(failure_);
    return absl::CancelledError("the client stops");
  }

  /// False once the client stops or has failed.
  bool wait(absl::Duration pause) {
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, absl::ToChronoMilliseconds(pause), [&] { return stopping_; });
    return !stopping_ && failure_.ok();
  }

  void watch() {
    while (wait(absl::ZeroDuration())) {
      wire::Request request;
      request.mutable_watch()->set_version(version_);
      const Result<wire::Reply> reply = call(request);
      if (!reply.ok()) {
        if (wait(absl::ZeroDuration())) fail(reply.status());
        return;
      }
      version_ = reply->version();
      std::vector<MemberChange> changes;
      for (const wire::Member& member : reply->members()) {
        const bool alive = member.state() == wire::Member::ALIVE;
        const bool dead = member.state() == wire::Member::DEAD;
        changes.push_back({.id = {member.process(), member.incarnation()},
                           .state = alive  ? MemberChange::kAlive
                                    : dead ? MemberChange::kDead
                                           : MemberChange::kLeft,
                           .host = member.host(),
                           .why = member.why()});
      }
      if (options_.on_change && !changes.empty()) options_.on_change(changes);
      std::lock_guard lock(mutex_);
      told_ = version_;
      told_changed_.notify_all();
    }
  }

  void fail(const Status& status) {
    {
      std::lock_guard lock(mutex_);
      if (!failure_.ok() || stopping_ || leaving_) return;
      failure_ = status;
      cancel_calls();
    }
    stopped_.notify_all();
    if (options_.on_failure) options_.on_failure(status);
  }

  void stop() {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    cancel_calls();
    stopped_.notify_all();
  }

  void cancel_calls() {
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    told_changed_.notify_all();
  }

  const ClientOptions options_;
  Clock& clock_;
  const uint64_t incarnation_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<wire::Coordinator::Stub> stub_;
  uint64_t service_ = 0;  // set while connecting, as the next two
  absl::Duration heartbeat_timeout_;
  bool recoverable_ = false;
  uint64_t version_ = 0;  // the watch's

  mutable std::mutex mutex_;
  std::condition_variable stopped_, told_changed_;
  // Guarded by mutex_.
  Status failure_;
  bool stopping_ = false, leaving_ = false;
  uint64_t last_sequence_ = 0;
  std::set<uint64_t> open_calls_;  // of those that are carried out once
  std::set<grpc::ClientContext*> contexts_;
  absl::Duration last_contact_;
  uint64_t told_ = 0;  // the version up to which on_change has returned

  Thread heartbeats_, watch_;
};

}  // namespace

Result<std::unique_ptr<Client>> Client::connect(ClientOptions options, Clock& clock) {
  auto client = std::make_unique<GrpcClient>(std::move(options), clock);
  RETURN_IF_ERROR(client->begin());
  return client;
}

}  // namespace tessera::coord
