#include "tessera/train/member_watch.h"

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

void MemberWatch::attach(const pjrt::Client& client) {
  const std::lock_guard lock(mutex_);
  client_ = &client;
  pass_on();
}

void MemberWatch::detach() {
  const std::lock_guard lock(mutex_);
  client_ = nullptr;
}

void MemberWatch::pass_on() {
  if (client_ == nullptr || states_.empty()) return;
  std::vector<pjrt::ProcessState> states;
  for (const auto& [process, state] : states_) states.push_back(state);
  const Status told = client_->update_processes(states);
  // A plugin that cannot be told waits for its own timeout.
  if (!told.ok() && told.code() != absl::StatusCode::kUnimplemented)
    log_warning("telling the devices who lives: ", from_absl(told.message()));
}

}  // namespace tessera
