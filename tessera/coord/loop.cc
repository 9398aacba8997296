#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <chrono>

#include "tessera/base/log.h"
#include "tessera/coord/loop_internal.h"

namespace tessera::coord {
namespace {

// The loop looks at least this often, so that a longer gap means that the process itself stood
// still.
constexpr absl::Duration kLongestSleep = absl::Seconds(1);
constexpr absl::Duration kLongestStep = absl::Seconds(3);

grpc::ByteBuffer serialized(const wire::Reply& reply) {
  grpc::ByteBuffer buffer;
  bool own = false;
  grpc::SerializationTraits<wire::Reply>::Serialize(reply, &buffer, &own);
  return buffer;
}

}  // namespace

Loop::Loop(std::unique_ptr<State> state, std::unique_ptr<Journal> journal, const Clock& clock)
    : clock_(clock), state_(std::move(state)), journal_(std::move(journal)) {
  last_real_ = state_time_ = clock_.elapsed();
  publish();
  thread_ = Thread("coord-loop", [this] { run(); });
}

void Loop::submit(CallId id, PendingCall* call, wire::Request request) {
  {
    std::lock_guard lock(mutex_);
    if (!stopping_ && !stopped_) {
      events_.push_back({id, call, std::move(request)});
      came_.notify_one();
      return;
    }
  }
  call->finish_without(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the coordinator stops"));
}

void Loop::drop(CallId id) {
  std::lock_guard lock(mutex_);
  events_.push_back({id, nullptr, {}});
  came_.notify_one();
}

void Loop::process_ended(int process, std::string how) {
  std::lock_guard lock(mutex_);
  events_.push_back({0, nullptr, {}, process, std::move(how)});
  came_.notify_one();
}

void Loop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    came_.notify_one();
  }
  thread_.join();
}

Status Loop::broken() const {
  std::lock_guard lock(mutex_);
  return broken_;
}

bool Loop::all_gone() const {
  std::lock_guard lock(mutex_);
  return all_gone_;
}

int Loop::alive() const {
  std::lock_guard lock(mutex_);
  return alive_;
}

uint64_t Loop::incarnation(int process) const {
  std::lock_guard lock(mutex_);
  const auto i = static_cast<size_t>(process);
  return i < starts_.size() ? starts_[i].first : 0;
}

bool Loop::is_dead(int process) const {
  std::lock_guard lock(mutex_);
  const auto i = static_cast<size_t>(process);
  return i < starts_.size() && starts_[i].second;
}

Status Loop::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

// While a coordinator stands still (stopped, a suspended machine), nobody's heartbeats can arrive:
// that time does not count against them.
absl::Duration Loop::now() {
  const absl::Duration real = clock_.elapsed();
  state_time_ += std::min(real - last_real_, kLongestStep);
  last_real_ = real;
  return state_time_;
}

void Loop::publish() {
  std::lock_guard lock(mutex_);
  all_gone_ = state_->all_gone();
  alive_ = state_->alive();
  failure_ = state_->failure();
  if (version_ == state_->version() && !starts_.empty()) return;
  version_ = state_->version();
  starts_.clear();
  for (int process = 0; process < state_->processes(); ++process)
    starts_.push_back({state_->incarnation(process), state_->is_dead(process)});
}

void Loop::run() {
  bool goes_on = true;
  while (goes_on) {
    const std::optional<absl::Duration> next = state_->next_event();
    absl::Duration sleep = kLongestSleep;
    if (next) sleep = std::clamp(*next - now(), absl::ZeroDuration(), kLongestSleep);
    std::vector<Event> events;
    {
      std::unique_lock lock(mutex_);
      came_.wait_for(lock, absl::ToChronoNanoseconds(sleep),
                     [&] { return stopping_ || !events_.empty(); });
      if (stopping_) break;
      events.swap(events_);
    }
    goes_on = step(std::move(events));
  }
  std::vector<Event> rest;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    rest.swap(events_);
  }
  for (const Event& event : rest) {
    if (event.call) calls_[event.id] = event.call;
  }
  finish_all(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the coordinator stops"));
}

bool Loop::step(std::vector<Event> events) {
  const absl::Duration time = now();
  for (Event& event : events) {
    if (event.call) {
      calls_[event.id] = event.call;
      state_->handle(event.id, event.request, time);
      continue;
    }
    if (event.process >= 0) {
      state_->process_ended(event.process, event.how);
      continue;
    }
    const auto call = calls_.find(event.id);
    if (call == calls_.end()) continue;
    state_->drop(event.id);
    call->second->finish_without(grpc::Status::CANCELLED);
    calls_.erase(call);
  }
  state_->advance(time);
  const wire::Batch records = state_->take_records();
  if (journal_ && records.records_size() > 0) {
    Status stored = journal_->append(records);
    if (stored.ok() && journal_->is_long()) stored = journal_->rewrite(state_->snapshot());
    if (!stored.ok()) {
      // A reply that a restarted coordinator would not know of must not go out.
      log_error("coordinator: stops, since it cannot store what it would have to remember: ",
                from_absl(stored.message()));
      std::lock_guard lock(mutex_);
      broken_ = stored;
      return false;
    }
  }
  publish();  // first: who has a reply may look at once
  reply_to(state_->take_outputs());
  return true;
}

void Loop::reply_to(const std::vector<Output>& outputs) {
  // Many get the same object: it is serialized once, and its bytes are shared.
  std::unordered_map<const wire::Reply*, grpc::ByteBuffer> buffers;
  for (const Output& output : outputs) {
    const auto call = calls_.find(output.call);
    if (call == calls_.end()) continue;
    const auto [buffer, is_new] = buffers.try_emplace(output.reply.get());
    if (is_new) buffer->second = serialized(*output.reply);
    call->second->finish(buffer->second);
    calls_.erase(call);
  }
}

void Loop::finish_all(const grpc::Status& status) {
  for (const auto& [id, call] : calls_) call->finish_without(status);
  calls_.clear();
}

}  // namespace tessera::coord
