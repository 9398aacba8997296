#include <algorithm>

#include "tessera/base/strings.h"
#include "tessera/coord/state.h"

namespace tessera::coord {
namespace {

std::set<int> listed(const wire::Barrier& barrier) {
  return {barrier.processes().begin(), barrier.processes().end()};
}

}  // namespace

// What is wrong with the call by itself, or against those that came before it.
Status State::check_barrier(const wire::Request& request) const {
  const wire::Barrier& barrier = request.barrier();
  const int process = request.caller().process();
  const std::set<int> processes = listed(barrier);
  for (const int other : processes) {
    if (!is_process(other)) {
      return invalid_argument("barrier ", quoted(barrier.id()), ": process ", other,
                              " is in the list; required: from 0 to ", options_.processes - 1);
    }
  }
  if (!processes.empty() && !processes.contains(process)) {
    return invalid_argument("barrier ", quoted(barrier.id()), ": ", name(process),
                            " called it, but is not in the list that it gave");
  }
  const auto found = barriers_.find(barrier.id());
  if (found == barriers_.end()) return absl::OkStatus();
  const PendingBarrier& pending = found->second;
  if (pending.all && processes.empty()) return absl::OkStatus();
  if (pending.processes == processes) return absl::OkStatus();
  const std::set<int>& earlier = pending.processes;
  if (!pending.all && processes.empty() && earlier.contains(process)) {
    return invalid_argument("barrier ", quoted(barrier.id()), ": ", name(process),
                            " calls it for all, others for ", names(earlier));
  }
  if (!earlier.contains(process)) {
    return invalid_argument(
        "barrier ", quoted(barrier.id()), ": ", name(process),
        " called it, but is not in the list that others gave: ", names(earlier));
  }
  return invalid_argument("barrier ", quoted(barrier.id()), ": ", name(process),
                          " gave another list (", names(processes), ") than those before it (",
                          names(earlier), ")");
}

Status State::start_barrier(const wire::Request& request, absl::Duration now) {
  const wire::Barrier& barrier = request.barrier();
  ASSIGN_OR_RETURN(const absl::Duration timeout, timeout_of(barrier.timeout_ms()));
  PendingBarrier pending = {.all = barrier.processes().empty(),
                            .processes = listed(barrier),
                            .deadline = now + timeout,
                            .timeout = timeout,
                            .first_arrival = now};
  std::set<int> gone;
  for (int process = 0; process < options_.processes; ++process) {
    const wire::Member::State state = members_[process].state;
    if (pending.all && state == wire::Member::ALIVE) pending.processes.insert(process);
    if (pending.processes.contains(process) &&
        (state == wire::Member::DEAD || state == wire::Member::LEFT)) {
      gone.insert(process);
    }
  }
  if (!gone.empty()) {
    return internal_error("barrier ", quoted(barrier.id()), ": ", names(gone),
                          " died or left, and cannot arrive");
  }
  barrier_deadlines_.insert({pending.deadline, barrier.id()});
  barriers_[barrier.id()] = std::move(pending);
  return absl::OkStatus();
}

void State::barrier(CallId call, const wire::Request& request, absl::Duration now) {
  const wire::Barrier& barrier = request.barrier();
  const std::string& id = barrier.id();
  const int process = request.caller().process();
  if (id.empty() || id.size() > options_.max_id_bytes) {
    return answer(call, invalid_argument("a barrier's id has ", id.size(),
                                         " bytes; required: from 1 to ", options_.max_id_bytes));
  }
  const auto ended = ended_barriers_.find(id);
  if (ended != ended_barriers_.end()) return answer(call, ended->second);
  Status status = check_barrier(request);
  if (status.ok() && !barriers_.contains(id)) status = start_barrier(request, now);
  if (!status.ok()) {
    answer(call, status);
    return end_barrier(id, status);
  }
  PendingBarrier& pending = barriers_[id];
  if (pending.all) pending.processes.insert(process);  // it may have connected after the first came
  pending.arrived.insert({process, now});
  pending.calls.push_back({call, process, barrier.want_arrivals()});
  if (pending.arrived.size() == pending.processes.size()) return end_barrier(id, absl::OkStatus());
  end_late_barriers(now);
}

void State::cancel_barrier(CallId call, const wire::Request& request) {
  const std::string& id = request.cancel_barrier().id();
  if (barriers_.contains(id)) {
    answer(call, absl::OkStatus());
    return end_barrier(
        id, absl::CancelledError(str_cat("barrier ", quoted(id), ": ",
                                         name(request.caller().process()), " cancelled it")));
  }
  if (ended_barriers_.contains(id)) {
    return answer(call, failed_precondition("barrier ", quoted(id), " has ended already"));
  }
  answer(call, not_found("nobody waits at a barrier ", quoted(id)));
}

void State::end_barrier(const std::string& id, const Status& result) {
  const auto found = barriers_.find(id);
  if (found != barriers_.end()) {
    const PendingBarrier pending = std::move(found->second);
    barriers_.erase(found);
    barrier_deadlines_.erase({pending.deadline, id});
    Reply shared[2];
    for (const BarrierCall& waiting : pending.calls) {
      Reply& reply = shared[waiting.want_arrivals];
      if (!reply) {
        wire::Reply text = reply_of(result);
        for (const auto& [process, when] : pending.arrived) {
          if (!waiting.want_arrivals) break;
          wire::Arrival& arrival = *text.add_arrivals();
          arrival.set_process(process);
          arrival.set_after_first_ms(absl::ToDoubleMilliseconds(when - pending.first_arrival));
        }
        reply = std::make_shared<const wire::Reply>(std::move(text));
      }
      outputs_.push_back({waiting.call, reply});
    }
  }
  remember_barrier(id, result);
  wire::BarrierEnded& record = *records_.add_records()->mutable_barrier_ended();
  record.set_id(id);
  record.set_code(static_cast<int>(result.code()));
  record.set_message(std::string(from_absl(result.message())));
}

void State::remember_barrier(const std::string& id, const Status& result) {
  if (!ended_barriers_.insert({id, result}).second) return;
  if (ended_order_.size() < options_.max_ended_barriers) {
    ended_order_.push_back(id);
    return;
  }
  ended_barriers_.erase(ended_order_[ended_next_]);
  ended_order_[ended_next_] = id;
  ended_next_ = (ended_next_ + 1) % ended_order_.size();
}

void State::end_late_barriers(absl::Duration now) {
  while (!barrier_deadlines_.empty() && barrier_deadlines_.begin()->first <= now) {
    const std::string id = barrier_deadlines_.begin()->second;
    const PendingBarrier& pending = barriers_[id];
    std::set<int> missing = pending.processes;
    for (const auto& [process, when] : pending.arrived) missing.erase(process);
    end_barrier(id, absl::DeadlineExceededError(
                        str_cat("barrier ", quoted(id), ": ", pending.arrived.size(), " of ",
                                pending.processes.size(), " processes arrived within ",
                                absl::FormatDuration(pending.timeout),
                                " of the first; missing: ", names(missing))));
  }
}

void State::leave_barriers(const std::set<int>& processes, bool replaced) {
  std::map<std::string, std::set<int>> ended;
  for (auto& [id, pending] : barriers_) {
    for (const int process : processes) {
      if (!pending.processes.contains(process)) continue;
      if (!replaced) {
        ended[id].insert(process);
        continue;
      }
      // The new one has to arrive itself.
      pending.arrived.erase(process);
      for (const BarrierCall& waiting : pending.calls) {
        if (waiting.process != process) continue;
        answer_fenced(waiting.call, why_gone(process, replaced));
      }
      std::erase_if(pending.calls,
                    [&](const BarrierCall& waiting) { return waiting.process == process; });
    }
  }
  for (const auto& [id, gone] : ended) {
    end_barrier(id, internal_error("barrier ", quoted(id), ": ", names(gone),
                                   " died or left before all had arrived"));
  }
}

}  // namespace tessera::coord
