// Who is in the cluster: registration, heartbeats, deaths, leaving, and who hears of it.

#include <algorithm>

#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {

Status State::fenced(int process, uint64_t incarnation) const {
  const Member& member = members_[process];
  std::string why = "it has not registered";
  if (member.incarnation != incarnation && member.past.contains(incarnation)) {
    why = "another one was started in its place";
  } else if (member.incarnation == incarnation && member.state == wire::Member::DEAD) {
    why = member.why_dead.empty()
              ? str_cat("no heartbeat came for ", absl::FormatDuration(options_.heartbeat_timeout),
                        ", so it was declared dead")
              : str_cat("it was declared dead, since it ", member.why_dead);
  } else if (member.incarnation == incarnation && member.state == wire::Member::LEFT) {
    why = "it has left";
  }
  return failed_precondition(name(process), " with incarnation ", incarnation,
                             " is not connected: ", why);
}

wire::Member State::member_record(int process) const {
  const Member& member = members_[process];
  wire::Member record;
  record.set_process(process);
  record.set_incarnation(member.incarnation);
  record.set_state(member.state);
  record.set_host(member.host);
  record.set_why(member.why_dead);
  return record;
}

bool State::everyone_came() const {
  return std::none_of(members_.begin(), members_.end(),
                      [](const Member& member) { return member.state == wire::Member::UNKNOWN; });
}

void State::register_member(CallId call, const wire::Request& request, absl::Duration now) {
  const int process = request.caller().process();
  const uint64_t incarnation = request.caller().incarnation();
  const wire::Register& operation = request.register_();
  if (operation.processes() != options_.processes) {
    return answer_fenced(
        call, invalid_argument("the coordinator was started for ", options_.processes,
                               " processes, process ", process, " for ", operation.processes()));
  }
  if (!is_process(process)) {
    return answer_fenced(call,
                         invalid_argument("process ", process, " was given; required: from 0 to ",
                                          options_.processes - 1));
  }
  if (incarnation == 0) return answer_fenced(call, invalid_argument("the incarnation is 0"));
  if (!failure_.ok()) return answer_fenced(call, failure_);
  Member& member = members_[process];
  const bool again = member.incarnation == incarnation && member.state == wire::Member::ALIVE;
  if (!again) {
    if (member.incarnation == incarnation || member.past.contains(incarnation)) {
      return answer_fenced(call, absl::AbortedError(fenced(process, incarnation).message()));
    }
    if (member.state != wire::Member::UNKNOWN && !options_.recoverable) {
      const std::string why =
          member.state == wire::Member::LEFT
              ? " has left, and this run cannot begin again: start the coordinator anew"
              : " is connected already: two processes have the same number, or one was started "
                "again, which needs a coordinator with --recoverable";
      return answer_fenced(call, absl::AbortedError(str_cat(name(process), why)));
    }
    if (member.state == wire::Member::ALIVE) {
      end_incarnations({process}, /*replaced=*/true);
    }
    if (member.incarnation != 0) member.past.insert(member.incarnation);
    member.incarnation = incarnation;
    member.host = operation.host().substr(0, 256);
    member.why_dead.clear();
    member.last_heard = now;
    member.oldest_open = 0;
    member.answered.clear();
    set_member(process, wire::Member::ALIVE);
    next_heartbeat_check_ = std::min(next_heartbeat_check_, now + options_.heartbeat_timeout);
    answer_watches();
  }
  wire::Reply reply = reply_of(absl::OkStatus());
  reply.set_service(service_);
  reply.set_version(version_);
  reply.set_heartbeat_timeout_ms(absl::ToInt64Milliseconds(options_.heartbeat_timeout));
  reply.set_recoverable(options_.recoverable);
  answer(call, std::move(reply));
  if (!everyone_came()) return;
  std::vector<CallId> ready;
  for (const auto& [waiting, wait] : waits_) {
    if (wait.kind == Wait::kReady) ready.push_back(waiting);
  }
  for (const CallId waiting : ready) {
    take_wait(waiting);
    answer(waiting, absl::OkStatus());
  }
}

void State::wait_ready(CallId call, const wire::Request& request, absl::Duration now) {
  if (everyone_came()) return answer(call, absl::OkStatus());
  const Result<absl::Duration> timeout = timeout_of(request.wait_ready().timeout_ms());
  if (!timeout.ok()) return answer(call, timeout.status());
  add_wait(call, {.kind = Wait::kReady, .process = request.caller().process(), .timeout = *timeout},
           now);
  end_waits(now);
}

void State::watch(CallId call, const wire::Request& request, absl::Duration now) {
  const uint64_t version = request.watch().version();
  if (version != version_) return answer(call, changes_since(version));
  add_wait(call,
           {.kind = Wait::kWatch,
            .process = request.caller().process(),
            .version = version,
            .timeout = absl::InfiniteDuration()},
           now);
}

wire::Reply State::changes_since(uint64_t version) const {
  wire::Reply reply = reply_of(absl::OkStatus());
  reply.set_version(version_);
  if (version < first_change_ || version > version_) {
    for (int process = 0; process < options_.processes; ++process) {
      if (members_[process].state != wire::Member::UNKNOWN) {
        *reply.add_members() = member_record(process);
      }
    }
    return reply;
  }
  for (size_t i = version - first_change_; i < changes_.size(); ++i) {
    *reply.add_members() = changes_[i];
  }
  return reply;
}

void State::answer_watches() {
  std::map<uint64_t, Reply> replies;  // most wait for the same version, and get the same object
  std::vector<CallId> calls;
  for (const auto& [call, wait] : waits_) {
    if (wait.kind == Wait::kWatch && wait.version != version_) calls.push_back(call);
  }
  for (const CallId call : calls) {
    const uint64_t version = take_wait(call)->version;
    Reply& reply = replies[version];
    if (!reply) reply = std::make_shared<const wire::Reply>(changes_since(version));
    outputs_.push_back({call, reply});
  }
}

void State::set_member(int process, wire::Member::State state) {
  constexpr size_t kMostChanges = 10'000;
  members_[process].state = state;
  ++version_;
  changes_.push_back(member_record(process));
  if (changes_.size() > kMostChanges) {
    changes_.erase(changes_.begin(), changes_.begin() + kMostChanges / 2);
    first_change_ += kMostChanges / 2;
  }
  *records_.add_records()->mutable_member_changed()->mutable_member() = changes_.back();
}

Status State::why_gone(int process, bool replaced) const {
  if (replaced) {
    return absl::AbortedError(str_cat("another one was started as process ", process));
  }
  return fenced(process, members_[process].incarnation);
}

void State::end_incarnations(const std::set<int>& processes, bool replaced) {
  std::vector<CallId> calls;
  for (const auto& [call, wait] : waits_) {
    if (processes.contains(wait.process)) calls.push_back(call);
  }
  for (const int process : processes) leave_rounds(process);
  for (const CallId call : calls) {
    const std::optional<Wait> wait = take_wait(call);
    if (wait) answer_fenced(call, why_gone(wait->process, replaced));
  }
  leave_barriers(processes, replaced);
  if (!replaced) end_full_rounds();
}

void State::leave(CallId call, const wire::Request& request) {
  const int process = request.caller().process();
  set_member(process, wire::Member::LEFT);
  end_incarnations({process}, /*replaced=*/false);
  answer(call, absl::OkStatus());
  answer_watches();
}

void State::report_error(CallId call, const wire::Request& request) {
  const wire::ReportError& error = request.report_error();
  const bool valid = error.code() > 0 && error.code() <= 16;
  constexpr size_t kLongest = 16384;
  answer(call, absl::OkStatus());
  fail(Status(
      static_cast<absl::StatusCode>(valid ? error.code() : 2),
      str_cat(name(request.caller().process()), " failed: ", error.message().substr(0, kLongest))));
}

void State::process_ended(int process, const std::string& how) {
  if (!is_process(process)) return;
  if (members_[process].state == wire::Member::LEFT) return;  // it had nothing more to do
  if (options_.recoverable) return end_member(process, how);
  fail(absl::AbortedError(str_cat(name(process), " ", how, ": its own messages say why")));
}

void State::end_member(int process, const std::string& why) {
  if (!is_alive(process)) return;
  constexpr size_t kLongest = 16384;
  members_[process].why_dead = why.substr(0, kLongest);
  set_member(process, wire::Member::DEAD);
  end_incarnations({process}, /*replaced=*/false);
  answer_watches();
}

void State::declare_dead(CallId call, const wire::Request& request) {
  const wire::DeclareDead& operation = request.declare_dead();
  const int process = operation.process();
  if (!is_process(process)) {
    return answer(call,
                  invalid_argument("declaring a death: process ", process,
                                   " was given; required: from 0 to ", options_.processes - 1));
  }
  answer(call, absl::OkStatus());
  // Who was started anew meanwhile, or is gone by now, is not meant.
  if (!is_alive(process) || members_[process].incarnation != operation.incarnation()) return;
  const std::string why = operation.why().empty() ? "was given up" : operation.why();
  if (options_.recoverable) return end_member(process, why);
  fail(absl::AbortedError(str_cat(name(process), " ", why)));
}

void State::find_dead(absl::Duration now) {
  if (now < next_heartbeat_check_) return;
  std::set<int> dead;
  next_heartbeat_check_ = absl::InfiniteDuration();
  for (int process = 0; process < options_.processes; ++process) {
    if (!is_alive(process)) continue;
    const absl::Duration limit = members_[process].last_heard + options_.heartbeat_timeout;
    if (limit <= now) {
      dead.insert(process);
    } else {
      next_heartbeat_check_ = std::min(next_heartbeat_check_, limit);
    }
  }
  if (dead.empty()) return;
  for (const int process : dead) set_member(process, wire::Member::DEAD);
  const std::string late =
      str_cat("no heartbeat for ", absl::FormatDuration(options_.heartbeat_timeout));
  end_incarnations(dead, /*replaced=*/false);
  if (options_.recoverable) return answer_watches();
  fail(absl::UnavailableError(str_cat(
      late, " from ", names(dead),
      ": it crashed, was killed, preempted or evicted, or its network failed. Look at its "
      "own log first. All others stop, since the coordinator runs without --recoverable.")));
}

void State::fail(const Status& failure) {
  if (!failure_.ok()) return;
  failure_ = failure;
  wire::Failed& record = *records_.add_records()->mutable_failed();
  record.set_code(static_cast<int>(failure.code()));
  record.set_message(std::string(from_absl(failure.message())));
  rounds_.clear();
  std::vector<CallId> calls;
  for (const auto& [call, wait] : waits_) calls.push_back(call);
  for (const CallId call : calls) {
    take_wait(call);
    answer_fenced(call, failure);
  }
  while (!barriers_.empty()) end_barrier(std::string(barriers_.begin()->first), failure);
}

}  // namespace tessera::coord
