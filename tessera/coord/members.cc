#include "tessera/coord/members.h"

#include <algorithm>

#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

std::string text(const MemberChange& change) {
  const std::string name = str_cat("process ", change.id.process,
                                   change.host.empty() ? "" : str_cat(" (", change.host, ")"));
  if (change.state == MemberChange::kLeft) return str_cat(name, " left");
  if (change.why.empty()) return str_cat(name, " died: no heartbeat came from it");
  return str_cat(name, " ", change.why);
}

}  // namespace

void Members::take_changes(const std::vector<MemberChange>& changes) {
  const std::lock_guard listening(listening_);
  {
    const std::lock_guard lock(mutex_);
    for (const MemberChange& change : changes) {
      const ProcessId& id = change.id;
      const auto known = alive_.find(id.process);
      if (known != alive_.end() && known->second.incarnation != id.incarnation) {
        gone_.insert({{id.process, known->second.incarnation},
                      str_cat("process ", id.process, " was started anew")});
      }
      if (change.state == MemberChange::kAlive) {
        alive_[id.process] = id;
      } else {
        alive_.erase(id.process);
        gone_.insert({{id.process, id.incarnation}, text(change)});
      }
    }
  }
  for (const Listener* listener : listeners_) (*listener)(changes);
}

void Members::fail(const Status& failure) {
  const std::lock_guard listening(listening_);
  {
    const std::lock_guard lock(mutex_);
    failure_.Update(failure);
  }
  for (const Listener* listener : listeners_) (*listener)({});
}

Status Members::gone(const ProcessId& id) const {
  const std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(failure_);
  const auto found = gone_.find({id.process, id.incarnation});
  if (found != gone_.end()) return absl::AbortedError(found->second);
  // One that was there before this process came is known by its successor alone.
  const auto alive = alive_.find(id.process);
  if (alive == alive_.end() || alive->second.incarnation == id.incarnation) return absl::OkStatus();
  return absl::AbortedError(str_cat("process ", id.process, " was started anew"));
}

std::vector<ProcessId> Members::newcomers(const std::vector<ProcessId>& processes) const {
  std::vector<ProcessId> result;
  const std::lock_guard lock(mutex_);
  for (const auto& [process, id] : alive_) {
    if (std::find(processes.begin(), processes.end(), id) == processes.end()) result.push_back(id);
  }
  return result;
}

Members::Subscription::Subscription(Members& members, Listener listener)
    : members_(members), listener_(std::move(listener)) {
  const std::lock_guard lock(members_.listening_);
  members_.listeners_.insert(&listener_);
}

Members::Subscription::~Subscription() {
  const std::lock_guard lock(members_.listening_);
  members_.listeners_.erase(&listener_);
}

}  // namespace tessera::coord
