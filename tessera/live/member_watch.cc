#include "tessera/live/member_watch.h"

#include "tessera/base/log.h"

namespace tessera {

void MemberWatch::take_changes(const std::vector<coord::MemberChange>& changes) {
  const std::lock_guard lock(mutex_);
  for (const coord::MemberChange& change : changes) {
    if (change.state == coord::MemberChange::kLeft) continue;  // it had nothing more to do
    states_[change.id.process] = {.process = change.id.process,
                                  .incarnation = change.id.incarnation,
                                  .alive = change.state == coord::MemberChange::kAlive};
  }
  pass_on();
}

void MemberWatch::fail(int process, int processes) {
  const std::lock_guard lock(mutex_);
  for (int other = 0; other < processes; ++other) {
    if (other == process) continue;
    states_[other].process = other;
    states_[other].alive = false;
  }
  pass_on();
}

void MemberWatch::take_live(const coord::LiveSet& live) {
  const std::lock_guard lock(mutex_);
  bool news = false;
  for (const coord::ProcessId& id : live.processes) {
    news |= states_
                .try_emplace(id.process, pjrt::ProcessState{.process = id.process,
                                                            .incarnation = id.incarnation,
                                                            .alive = true})
                .second;
  }
  if (news) pass_on();
}

void MemberWatch::attach(const pjrt::Client& client) {
  const std::lock_guard lock(mutex_);
  client_ = &client;
  pass_on();
}

bool MemberWatch::is_attached() const {
  const std::lock_guard lock(mutex_);
  return client_ != nullptr;
}

void MemberWatch::detach() {
  const std::lock_guard lock(mutex_);
  client_ = nullptr;
}

void MemberWatch::cut_off(const std::vector<int>& processes) {
  const std::lock_guard lock(mutex_);
  cut_off_.insert(processes.begin(), processes.end());
  pass_on();
}

void MemberWatch::resume() {
  const std::lock_guard lock(mutex_);
  if (cut_off_.empty()) return;
  cut_off_.clear();
  pass_on();
}

void MemberWatch::pass_on() {
  if (client_ == nullptr || states_.empty()) return;
  std::vector<pjrt::ProcessState> states;
  for (const auto& [process, state] : states_) {
    states.push_back(state);
    if (cut_off_.contains(process)) states.back().alive = false;
  }
  const Status told = client_->update_processes(states);
  // A plugin that cannot be told waits for its own timeout.
  if (!told.ok() && told.code() != absl::StatusCode::kUnimplemented)
    log_warning("telling the devices who lives: ", from_absl(told.message()));
}

}  // namespace tessera
