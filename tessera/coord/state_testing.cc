#include "tessera/coord/state_testing.h"

namespace tessera::coord {

wire::Request insert_request(const std::string& key, const std::string& value, bool overwrite) {
  wire::Request request;
  request.mutable_insert()->set_key(key);
  request.mutable_insert()->set_value(value);
  request.mutable_insert()->set_overwrite(overwrite);
  return request;
}

wire::Request get_request(const std::string& key, int64_t timeout_ms) {
  wire::Request request;
  request.mutable_get()->set_key(key);
  request.mutable_get()->set_timeout_ms(timeout_ms);
  return request;
}

wire::Request increment_request(const std::string& key, int64_t by) {
  wire::Request request;
  request.mutable_increment()->set_key(key);
  request.mutable_increment()->set_by(by);
  return request;
}

wire::Request list_request(const std::string& prefix) {
  wire::Request request;
  request.mutable_list()->set_prefix(prefix);
  return request;
}

wire::Request erase_request(const std::string& key, bool prefix) {
  wire::Request request;
  request.mutable_erase()->set_key(key);
  request.mutable_erase()->set_prefix(prefix);
  return request;
}

wire::Request barrier_request(const std::string& id, const std::vector<int>& processes,
                              int64_t timeout_ms) {
  wire::Request request;
  wire::Barrier& barrier = *request.mutable_barrier();
  barrier.set_id(id);
  for (const int process : processes) barrier.add_processes(process);
  barrier.set_timeout_ms(timeout_ms);
  return request;
}

wire::Request cancel_request(const std::string& id) {
  wire::Request request;
  request.mutable_cancel_barrier()->set_id(id);
  return request;
}

wire::Request live_set_request(const std::vector<int>& processes, int64_t timeout_ms) {
  wire::Request request;
  for (const int process : processes) request.mutable_live_set()->add_processes(process);
  request.mutable_live_set()->set_timeout_ms(timeout_ms);
  return request;
}

wire::Request watch_request(uint64_t version) {
  wire::Request request;
  request.mutable_watch()->set_version(version);
  return request;
}

wire::Request ready_request(int64_t timeout_ms) {
  wire::Request request;
  request.mutable_wait_ready()->set_timeout_ms(timeout_ms);
  return request;
}

wire::Request report_request(const Status& status) {
  wire::Request request;
  request.mutable_report_error()->set_code(static_cast<int>(status.code()));
  request.mutable_report_error()->set_message(std::string(from_absl(status.message())));
  return request;
}

wire::Request heartbeat_request() {
  wire::Request request;
  request.mutable_heartbeat();
  return request;
}

wire::Request leave_request() {
  wire::Request request;
  request.mutable_leave();
  return request;
}

wire::Reply StateDriver::join(int process) {
  return join_as(process, static_cast<uint64_t>(process + 100 * ++joined_[process]));
}

wire::Reply StateDriver::join_as(int process, uint64_t incarnation) {
  incarnations_[process] = incarnation;
  sequences_[process] = 0;
  wire::Request request;
  request.mutable_register_()->set_processes(options_.processes);
  request.mutable_register_()->set_host(str_cat("host", process));
  request.mutable_caller()->set_process(process);
  request.mutable_caller()->set_incarnation(incarnation);
  return *reply(resend(request));
}

CallId StateDriver::send(int process, wire::Request request) {
  wire::Caller& caller = *request.mutable_caller();
  caller.set_process(process);
  caller.set_incarnation(incarnations_[process]);
  caller.set_service(77);
  caller.set_sequence(++sequences_[process]);
  return resend(request);
}

CallId StateDriver::resend(const wire::Request& request) {
  const CallId call = next_call_++;
  sent_[call] = request;
  state_.handle(call, request, now_);
  collect();
  return call;
}

void StateDriver::collect() {
  wire::Batch records = state_.take_records();
  if (records.records_size() > 0) stored_.push_back(std::move(records));
  for (const Output& output : state_.take_outputs()) {
    CHECK_MSG(replies_.insert({output.call, *output.reply}).second, "a call was answered twice");
  }
}

std::optional<wire::Reply> StateDriver::reply(CallId call) {
  const auto found = replies_.find(call);
  if (found == replies_.end()) return std::nullopt;
  return found->second;
}

Status StateDriver::status(CallId call) {
  const std::optional<wire::Reply> found = reply(call);
  CHECK_MSG(found.has_value(), "the call has no reply yet");
  return status_of(*found);
}

void StateDriver::pass(absl::Duration duration, const std::vector<int>& beating) {
  for (const int process : beating) send(process, heartbeat_request());
  now_ += duration;
  state_.advance(now_);
  collect();
}

void StateDriver::restart(bool from_snapshot) {
  std::vector<wire::Batch> batches = stored_;
  if (from_snapshot) batches = {state_.snapshot()};
  state_ = State(options_, 78, now_);
  for (const wire::Batch& batch : batches) {
    const Status status = state_.restore(batch);
    CHECK_MSG(status.ok(), std::string(from_absl(status.message())));
  }
}

}  // namespace tessera::coord
