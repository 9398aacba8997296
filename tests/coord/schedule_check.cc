#include "tests/coord/schedule_check.h"

#include <algorithm>

#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

using Kind = CallRecord::Kind;
using Finding = std::optional<std::string>;

std::string text(const Who& who) { return str_cat(who.first, "#", who.second); }

bool was_answered(const CallRecord& call) { return call.answered != kNever; }
bool succeeded(const CallRecord& call) {
  return was_answered(call) && !call.fenced && call.code == 0;
}

struct Interval {
  Micros begin = 0, end = 0;
};

class Checker {
 public:
  explicit Checker(const History& history) : history_(history) {
    for (const InstanceRecord& instance : history.instances) instances_[instance.who] = &instance;
    for (const CallRecord& call : history.calls) {
      by_instance_[call.who].push_back(&call);
      // The coordinator took a copy of it, sent at this moment or later, for a living process's.
      if (was_answered(call) && !call.fenced) {
        Micros& last = last_sign_[call.who];
        last = std::max(last, call.first_sent);
      }
    }
  }

  Finding check() {
    for (auto function : {&Checker::agreement, &Checker::live_sets, &Checker::barriers,
                          &Checker::key_values, &Checker::fencing, &Checker::progress}) {
      if (Finding finding = (this->*function)()) return finding;
    }
    return std::nullopt;
  }

 private:
  Finding agreement() {
    std::map<uint64_t, std::vector<Who>> rounds;
    std::map<std::pair<uint64_t, Who>, uint64_t> callers;
    for (const CallRecord& call : history_.calls) {
      if (call.kind != Kind::kLiveSet || !succeeded(call)) continue;
      const auto [known, is_new] = rounds.insert({call.round, call.members});
      if (!is_new && known->second != call.members) {
        return str_cat("agreement: round ", call.round, " has two answers");
      }
      if (std::find(call.members.begin(), call.members.end(), call.who) == call.members.end()) {
        return str_cat("agreement: round ", call.round, " answered ", text(call.who),
                       ", which is not in it");
      }
      if (!callers.insert({{call.round, call.who}, call.sequence}).second) {
        return str_cat("agreement: round ", call.round, " answered two calls of ", text(call.who));
      }
    }
    return std::nullopt;
  }

  // When the member waited in that round: from its call until its reply, or for ever where it got
  // none and did nothing afterwards.
  std::optional<Interval> waiting(const Who& member, const CallRecord& reply) const {
    const auto calls = by_instance_.find(member);
    if (calls == by_instance_.end()) return std::nullopt;
    const CallRecord* open = nullptr;
    for (const CallRecord* call : calls->second) {
      if (call->kind != Kind::kLiveSet || call->processes != reply.processes) continue;
      if (succeeded(*call) && call->round == reply.round) {
        return Interval{call->first_sent, call->answered};
      }
      if (!was_answered(*call) || call->fenced) open = call;
    }
    if (!open) return std::nullopt;
    return Interval{open->first_sent, kNever};
  }

  Finding live_sets() {
    std::set<uint64_t> seen;
    for (const CallRecord& reply : history_.calls) {
      if (reply.kind != Kind::kLiveSet || !succeeded(reply)) continue;
      if (!seen.insert(reply.round).second) continue;
      Interval common = {0, kNever};
      std::set<int> absent = reply.processes;
      for (const Who& member : reply.members) {
        if (absent.erase(member.first) == 0) {
          return str_cat("live set: ", text(member), " is there twice, or not in the list");
        }
        const std::optional<Interval> waited = waiting(member, reply);
        if (!waited) {
          return str_cat("live set: round ", reply.round, " has ", text(member),
                         ", which did not wait for it");
        }
        common.begin = std::max(common.begin, waited->begin);
        common.end = std::min(common.end, waited->end);
      }
      if (!has_instant(common, absent)) {
        return str_cat("live set: round ", reply.round,
                       ": there is no instant when all of it waited and the others were dead");
      }
    }
    return std::nullopt;
  }

  bool has_instant(const Interval& common, const std::set<int>& absent) const {
    std::vector<Interval> alive;
    std::vector<Micros> candidates = {common.begin};
    for (const auto& [who, instance] : instances_) {
      const auto last = last_sign_.find(who);
      if (!absent.contains(who.first) || last == last_sign_.end()) continue;
      if (instance->registered >= last->second) continue;
      alive.push_back({instance->registered, last->second});
      candidates.push_back(last->second);
    }
    return std::any_of(candidates.begin(), candidates.end(), [&](Micros moment) {
      if (moment < common.begin || moment > common.end) return false;
      return std::none_of(alive.begin(), alive.end(), [&](const Interval& interval) {
        return moment >= interval.begin && moment < interval.end;
      });
    });
  }

  Finding barriers() {
    std::map<std::string, const CallRecord*> results;
    std::map<std::string, std::set<int>> arrived;
    for (const CallRecord& call : history_.calls) {
      if (call.kind == Kind::kBarrier) arrived[call.key].insert(call.who.first);
    }
    for (const CallRecord& call : history_.calls) {
      if (call.kind != Kind::kBarrier || !was_answered(call) || call.fenced) continue;
      const auto [known, is_new] = results.insert({call.key, &call});
      if (!is_new && (known->second->code != call.code || known->second->message != call.message)) {
        return str_cat("barrier: ", call.key, " ended twice: ", known->second->message, " | ",
                       call.message);
      }
      if (call.code != 0) continue;
      if (const Finding finding = check_arrivals(call)) return finding;
    }
    return std::nullopt;
  }

  // All of a barrier that ended well arrived, each by an instance that no other had replaced by
  // then.
  Finding check_arrivals(const CallRecord& reply) const {
    std::map<int, std::vector<const CallRecord*>> arrivals;
    for (const CallRecord& call : history_.calls) {
      if (call.kind == Kind::kBarrier && call.key == reply.key &&
          call.first_sent <= reply.answered) {
        arrivals[call.who.first].push_back(&call);
      }
    }
    Micros earliest_end = 0;  // it cannot have ended before everyone had sent a call
    for (const auto& [process, calls] : arrivals) {
      if (!reply.processes.contains(process)) continue;
      Micros first = kNever;
      for (const CallRecord* call : calls) first = std::min(first, call->first_sent);
      earliest_end = std::max(earliest_end, first);
    }
    for (const int process : reply.processes) {
      const std::vector<const CallRecord*>& calls = arrivals[process];
      const bool came = std::any_of(calls.begin(), calls.end(), [&](const CallRecord* call) {
        return replaced_at(call->who) >= earliest_end;
      });
      if (!came) {
        return str_cat("barrier: ", reply.key, " ended well, but process ", process,
                       " had not arrived, or one that was replaced had");
      }
    }
    return std::nullopt;
  }

  Finding key_values() {
    int64_t acknowledged = 0, issued = 0;
    std::set<int64_t> sums;
    std::map<std::string, Who> winners;
    for (const CallRecord& call : history_.calls) {
      const std::string of = str_cat(" of ", text(call.who), " call ", call.sequence);
      if (call.kind == Kind::kIncrement) {
        ++issued;
        if (!succeeded(call)) continue;
        ++acknowledged;
        if (!sums.insert(call.number).second) {
          return str_cat("key-values: two increments gave ", call.number);
        }
      } else if (call.kind == Kind::kInsertOnce && succeeded(call)) {
        if (!winners.insert({call.key, call.who}).second) {
          return str_cat("key-values: ", call.key, " was inserted twice");
        }
        if (stored(call.key) != str_cat(call.number)) {
          return str_cat("key-values: ", call.key, " has not the value", of);
        }
      } else if (call.kind == Kind::kInsertOwn && was_answered(call) && !call.fenced) {
        // Nobody else writes this key, so there is nothing for it to exist already.
        if (call.code != 0) return str_cat("key-values: insert", of, " failed: ", call.message);
        if (stored(call.key) != str_cat(call.number)) {
          return str_cat("key-values: ", call.key, of, " is lost");
        }
      } else if (call.kind == Kind::kRead && was_answered(call) && !call.fenced) {
        if (call.least > 0 && (call.code != 0 || call.number < call.least)) {
          return str_cat("key-values: read", of, " of ", call.key, " gave ", call.number, " after ",
                         call.least, " had been acknowledged");
        }
      }
    }
    if (history_.final_count < acknowledged || history_.final_count > issued) {
      return str_cat("key-values: the count is ", history_.final_count, " after ", acknowledged,
                     " acknowledged increments of ", issued);
    }
    return std::nullopt;
  }

  std::string stored(const std::string& key) const {
    const auto found = history_.final_values.find(key);
    return found == history_.final_values.end() ? "" : found->second;
  }

  // When it was known that a later instance of the same process had registered.
  Micros replaced_at(const Who& who) const {
    Micros replaced = kNever;
    for (const InstanceRecord& other : history_.instances) {
      if (other.who.first != who.first || other.who == who) continue;
      if (other.registered != kNever && instances_.at(who)->order < other.order) {
        replaced = std::min(replaced, other.registered);
      }
    }
    return replaced;
  }

  // Once a later instance of a process is in, calls that an earlier one begins have no effect.
  Finding fencing() {
    for (const auto& [who, calls] : by_instance_) {
      const Micros replaced = replaced_at(who);
      for (const CallRecord* call : calls) {
        if (was_answered(*call) && !call->fenced && call->first_sent > replaced) {
          return str_cat("fencing: ", text(who), " was served after its successor had registered");
        }
      }
    }
    return std::nullopt;
  }

  Finding progress() {
    if (history_.stuck.empty()) return std::nullopt;
    return str_cat("progress: ", text(history_.stuck[0]), " waits for ever");
  }

  const History& history_;
  std::map<Who, const InstanceRecord*> instances_;
  std::map<Who, std::vector<const CallRecord*>> by_instance_;
  std::map<Who, Micros> last_sign_;
};

}  // namespace

std::optional<std::string> broken_promise(const History& history) {
  return Checker(history).check();
}

}  // namespace tessera::coord
