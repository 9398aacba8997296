// Live sets. All processes of a list that are alive ask, all get the same answer: who they are. A
// reply holds whoever waits at the moment when everyone else on the list is dead, so it is made
// only where nobody on the list is alive and absent.

#include <algorithm>

#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {

void State::live_set(CallId call, const wire::Request& request, absl::Duration now) {
  const wire::LiveSet& operation = request.live_set();
  const int process = request.caller().process();
  std::set<int> processes = {operation.processes().begin(), operation.processes().end()};
  if (processes.empty()) {
    for (int other = 0; other < options_.processes; ++other) processes.insert(other);
  }
  Status status;
  for (const int other : processes) {
    if (is_process(other)) continue;
    status = invalid_argument("live set: process ", other, " is in the list; required: from 0 to ",
                              options_.processes - 1);
  }
  if (!processes.contains(process)) {
    status = invalid_argument("live set: ", name(process), " asks, but is not in its own list");
  }
  const Result<absl::Duration> timeout = timeout_of(operation.timeout_ms());
  if (status.ok()) status = timeout.status();
  if (!status.ok()) return answer_once(call, request.caller(), reply_of(status));

  Round& round = rounds_[processes];
  const auto waiting = round.find(process);
  if (waiting != round.end()) {
    if (waiting->second.caller.sequence() != request.caller().sequence()) {
      return answer_once(call, request.caller(),
                         reply_of(failed_precondition("live set: another thread of ", name(process),
                                                      " waits for it already")));
    }
    live_set_again(call, waiting->second);
    return;
  }
  round[process] = {request.caller(), {call}};
  add_wait(call,
           {.kind = Wait::kLiveSet,
            .process = process,
            .timeout = operation.timeout_ms() == 0 ? absl::InfiniteDuration() : *timeout},
           now);
  if (end_if_full(processes, round)) rounds_.erase(processes);
}

// The same call over a new connection. Its deadline stays where it was.
void State::live_set_again(CallId call, RoundCall& waiting) {
  constexpr size_t kMostCopies = 8;
  Wait wait = waits_.at(waiting.calls.front());
  if (waiting.calls.size() == kMostCopies) {
    take_wait(waiting.calls.front());
    wire::Reply replaced = reply_of(absl::AbortedError("the call was sent again"));
    replaced.set_again(true);
    answer(waiting.calls.front(), std::move(replaced));
    waiting.calls.erase(waiting.calls.begin());
  }
  waiting.calls.push_back(call);
  if (wait.deadline != absl::InfiniteDuration()) wait_deadlines_.insert({wait.deadline, call});
  waits_[call] = std::move(wait);
}

// Forgets a copy of which there is another. A process's only one stays: it counts as waiting until
// it dies, since it will ask again when only its connection was lost.
bool State::drop_live_set(CallId call, int process) {
  for (auto& [processes, round] : rounds_) {
    const auto waiting = round.find(process);
    if (waiting == round.end() || waiting->second.calls.size() < 2) continue;
    if (std::erase(waiting->second.calls, call)) return true;
  }
  return false;
}

bool State::end_if_full(const std::set<int>& processes, const Round& round) {
  for (const int process : processes) {
    if (is_alive(process) && !round.contains(process)) return false;
  }
  wire::Reply reply = reply_of(absl::OkStatus());
  reply.set_round(++round_);
  reply.set_version(version_);
  wire::Answered& record = *records_.add_records()->mutable_answered();
  for (const auto& [process, waiting] : round) {
    wire::Member& member = *reply.add_members();
    member.set_process(process);
    member.set_incarnation(waiting.caller.incarnation());
    member.set_state(wire::Member::ALIVE);
    *record.add_callers() = waiting.caller;
  }
  *record.mutable_reply() = reply;
  const auto shared = std::make_shared<const wire::Reply>(std::move(reply));
  for (const auto& [process, waiting] : round) {
    keep_answer(waiting.caller, shared);
    for (const CallId call : waiting.calls) {
      take_wait(call);
      outputs_.push_back({call, shared});
    }
  }
  return true;
}

void State::end_full_rounds() {
  std::erase_if(rounds_, [&](const auto& entry) {
    return entry.second.empty() || end_if_full(entry.first, entry.second);
  });
}

void State::leave_rounds(int process) {
  for (auto& [processes, round] : rounds_) round.erase(process);
  std::erase_if(rounds_, [](const auto& entry) { return entry.second.empty(); });
}

void State::end_late_live_set(CallId call, const Wait& wait) {
  for (auto& [processes, round] : rounds_) {
    const auto waiting = round.find(wait.process);
    if (waiting == round.end() ||
        std::count(waiting->second.calls.begin(), waiting->second.calls.end(), call) == 0) {
      continue;
    }
    std::set<int> missing;
    for (const int process : processes) {
      if (is_alive(process) && !round.contains(process)) missing.insert(process);
    }
    const RoundCall ended = std::move(waiting->second);
    round.erase(waiting);
    const Status late =
        absl::DeadlineExceededError(str_cat("live set: within ", absl::FormatDuration(wait.timeout),
                                            " these neither asked nor died: ", names(missing)));
    answer_once(call, ended.caller, reply_of(late));
    for (const CallId copy : ended.calls) {
      if (take_wait(copy)) answer(copy, late);
    }
    break;
  }
  std::erase_if(rounds_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace tessera::coord
