#include "tessera/coord/state.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tessera/base/strings.h"

namespace tessera::coord {

wire::Reply reply_of(const Status& status) {
  wire::Reply reply;
  reply.set_code(static_cast<int>(status.code()));
  if (!status.ok()) reply.set_message(std::string(from_absl(status.message())));
  return reply;
}

Status status_of(const wire::Reply& reply) {
  return Status(static_cast<absl::StatusCode>(reply.code()), reply.message());
}

bool is_done_once(const wire::Request& request) {
  return request.has_insert() || request.has_increment() || request.has_erase() ||
         request.has_live_set();
}

Result<absl::Duration> timeout_of(int64_t timeout_ms) {
  constexpr int64_t kTenYears = int64_t{10} * 366 * 24 * 3600 * 1000;
  if (timeout_ms < 0 || timeout_ms > kTenYears) {
    return invalid_argument("a timeout of ", timeout_ms,
                            " ms was given; required: from 0 to ten years");
  }
  return absl::Milliseconds(timeout_ms);
}

State::State(const StateOptions& options, uint64_t service, absl::Duration now)
    : options_(options), service_(service), start_(now), values_(options.limits) {
  CHECK(options.processes > 0 && service != 0);
  members_.resize(options.processes);
  // A new State's first record; one that restores gets the stored one.
  wire::Started& started = *records_.add_records()->mutable_started();
  started.set_service(service);
  started.set_processes(options.processes);
  started.set_recoverable(options.recoverable);
}

std::string State::name(int process) const {
  const bool known = is_process(process) && !members_[process].host.empty();
  return known ? str_cat("process ", process, " (", members_[process].host, ")")
               : str_cat("process ", process);
}

std::string State::names(const std::set<int>& processes) const {
  constexpr size_t kMost = 20;
  std::vector<std::string> texts;
  for (const int process : processes) {
    if (texts.size() == kMost) break;
    texts.push_back(name(process));
  }
  const size_t more = processes.size() - texts.size();
  return str_cat(absl::StrJoin(texts, ", "), more ? str_cat(" and ", more, " more") : "");
}

wire::Batch State::take_records() {
  wire::Batch taken;
  taken.Swap(&records_);
  return taken;
}

int State::alive() const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [](const Member& member) {
    return member.state == wire::Member::ALIVE;
  }));
}

bool State::all_gone() const { return version_ > 0 && alive() == 0; }

Status State::check_caller(const wire::Caller& caller) const {
  if (!is_process(caller.process())) {
    return invalid_argument("process ", caller.process(), " was given; required: from 0 to ",
                            options_.processes - 1);
  }
  if (caller.service() != service_) {
    return failed_precondition(
        "the coordinator that this process registered with is gone, and one that knows nothing of "
        "it answers at its address: what it held is lost. Start the coordinator with --journal, so "
        "that it comes back with what it knew.");
  }
  const Member& member = members_[caller.process()];
  if (member.incarnation != caller.incarnation() || member.state != wire::Member::ALIVE) {
    return fenced(caller.process(), caller.incarnation());
  }
  return absl::OkStatus();
}

void State::handle(CallId call, const wire::Request& request, absl::Duration now) {
  advance(now);
  if (request.has_register_()) {
    register_member(call, request, now);
    return;
  }
  const wire::Caller& caller = request.caller();
  const Status known = check_caller(caller);
  if (!known.ok()) {
    answer_fenced(call, known);
    return;
  }
  Member& member = members_[caller.process()];
  trim_answers(member, caller.oldest_open());
  if (!failure_.ok() && !request.has_leave()) {
    answer_fenced(call, failure_);
    return;
  }
  dispatch(call, request, now);
}

void State::dispatch(CallId call, const wire::Request& request, absl::Duration now) {
  if (is_done_once(request)) return dispatch_once(call, request, now);
  switch (request.operation_case()) {
    case wire::Request::kHeartbeat:
      members_[request.caller().process()].last_heard = now;
      return answer(call, absl::OkStatus());
    case wire::Request::kWaitReady:
      return wait_ready(call, request, now);
    case wire::Request::kGet:
      return get(call, request, now);
    case wire::Request::kList:
      return list(call, request);
    case wire::Request::kBarrier:
      return barrier(call, request, now);
    case wire::Request::kCancelBarrier:
      return cancel_barrier(call, request);
    case wire::Request::kWatch:
      return watch(call, request, now);
    case wire::Request::kReportError:
      return report_error(call, request);
    case wire::Request::kLeave:
      return leave(call, request);
    case wire::Request::kDeclareDead:
      return declare_dead(call, request);
    default:
      return answer(call, unimplemented("the request asks for nothing that this coordinator knows; "
                                        "both ends must be of one version"));
  }
}

// What may not be done twice: a copy of a call gets the first one's reply.
void State::dispatch_once(CallId call, const wire::Request& request, absl::Duration now) {
  const wire::Caller& caller = request.caller();
  const Member& member = members_[caller.process()];
  if (caller.sequence() == 0) return answer(call, invalid_argument("the call has no number"));
  if (caller.sequence() < member.oldest_open) {
    return answer(call, absl::AbortedError("an old copy of a call that was answered"));
  }
  const auto kept = member.answered.find(caller.sequence());
  if (kept != member.answered.end()) {
    outputs_.push_back({call, kept->second});
    return;
  }
  if (member.answered.size() >= options_.max_answers) {
    return answer(call, absl::ResourceExhaustedError(
                            str_cat(name(caller.process()), " has ", member.answered.size(),
                                    " answered calls that it does not acknowledge")));
  }
  if (request.has_insert()) return insert(call, request);
  if (request.has_increment()) return increment(call, request);
  if (request.has_erase()) return erase(call, request);
  live_set(call, request, now);
}

void State::answer(CallId call, const Status& status) { answer(call, reply_of(status)); }

void State::answer(CallId call, wire::Reply reply) {
  outputs_.push_back({call, std::make_shared<const wire::Reply>(std::move(reply))});
}

void State::answer_fenced(CallId call, const Status& status) {
  wire::Reply reply = reply_of(status);
  reply.set_fenced(true);
  answer(call, std::move(reply));
}

void State::answer_once(CallId call, const wire::Caller& caller, wire::Reply reply) {
  const auto shared = std::make_shared<const wire::Reply>(std::move(reply));
  keep_answer(caller, shared);
  wire::Answered& answered = *records_.add_records()->mutable_answered();
  *answered.add_callers() = caller;
  *answered.mutable_reply() = *shared;
  outputs_.push_back({call, shared});
}

void State::keep_answer(const wire::Caller& caller, const Reply& reply) {
  Member& member = members_[caller.process()];
  if (member.incarnation != caller.incarnation()) return;
  trim_answers(member, caller.oldest_open());
  if (caller.sequence() >= member.oldest_open) member.answered[caller.sequence()] = reply;
}

void State::trim_answers(Member& member, uint64_t oldest_open) {
  if (oldest_open <= member.oldest_open) return;
  member.oldest_open = oldest_open;
  member.answered.erase(member.answered.begin(), member.answered.lower_bound(oldest_open));
}

void State::add_wait(CallId call, Wait wait, absl::Duration now) {
  wait.deadline = now + wait.timeout;
  if (wait.kind == Wait::kGet) gets_[wait.key].insert(call);
  if (wait.deadline != absl::InfiniteDuration()) wait_deadlines_.insert({wait.deadline, call});
  waits_[call] = std::move(wait);
}

std::optional<State::Wait> State::take_wait(CallId call) {
  const auto found = waits_.find(call);
  if (found == waits_.end()) return std::nullopt;
  Wait wait = std::move(found->second);
  waits_.erase(found);
  wait_deadlines_.erase({wait.deadline, call});
  if (wait.kind == Wait::kGet) {
    const auto calls = gets_.find(wait.key);
    calls->second.erase(call);
    if (calls->second.empty()) gets_.erase(calls);
  }
  return wait;
}

void State::drop(CallId call) {
  const auto wait = waits_.find(call);
  if (wait != waits_.end()) {
    if (wait->second.kind != Wait::kLiveSet || drop_live_set(call, wait->second.process)) {
      take_wait(call);
    }
    return;
  }
  for (auto& [id, barrier] : barriers_) {
    std::erase_if(barrier.calls, [&](const BarrierCall& waiting) { return waiting.call == call; });
  }
}

void State::end_waits(absl::Duration now) {
  while (!wait_deadlines_.empty() && wait_deadlines_.begin()->first <= now) {
    const CallId call = wait_deadlines_.begin()->second;
    const Wait wait = *take_wait(call);
    const std::string within = absl::FormatDuration(wait.timeout);
    if (wait.kind == Wait::kGet) {
      answer(call, wait.timeout == absl::ZeroDuration()
                       ? not_found("key ", quoted(wait.key), " has no value")
                       : absl::DeadlineExceededError(
                             str_cat("key ", quoted(wait.key), " got no value within ", within)));
    } else if (wait.kind == Wait::kReady) {
      std::set<int> missing;
      for (int process = 0; process < options_.processes; ++process) {
        if (members_[process].state == wire::Member::UNKNOWN) missing.insert(process);
      }
      answer(call, absl::DeadlineExceededError(str_cat(
                       options_.processes - missing.size(), " of ", options_.processes,
                       " processes connected within ", within, "; missing: ", names(missing),
                       ". See whether they were started and can reach the "
                       "coordinator's address.")));
    } else if (wait.kind == Wait::kLiveSet) {
      end_late_live_set(call, wait);
    }
  }
}

void State::advance(absl::Duration now) {
  // Who has died is known before a deadline that falls on the same moment is judged.
  find_dead(now);
  end_waits(now);
  end_late_barriers(now);
}

std::optional<absl::Duration> State::next_event() const {
  absl::Duration next = next_heartbeat_check_;
  if (!wait_deadlines_.empty()) next = std::min(next, wait_deadlines_.begin()->first);
  if (!barrier_deadlines_.empty()) next = std::min(next, barrier_deadlines_.begin()->first);
  if (next == absl::InfiniteDuration()) return std::nullopt;
  return next;
}

}  // namespace tessera::coord
