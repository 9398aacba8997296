#include <unistd.h>

#include <cstdlib>

#include "tessera/base/strings.h"
#include "tessera/coord/shared_values.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/processes.h"

namespace tessera::process_testing {

Member::Member(int devices, std::unique_ptr<coord::Client> coordinator)
    : devices_(devices), coordinator_(std::move(coordinator)) {}

Result<pjrt::Client*> Member::client(std::vector<pjrt::NamedValue> options,
                                     std::optional<int64_t> slice) {
  ASSIGN_OR_RETURN(const std::string path, pjrt::testing::test_plugin_path());
  ASSIGN_OR_RETURN(const pjrt::Plugin plugin, pjrt::Plugin::load(path));
  options.push_back({"cpu_device_count", int64_t{devices_}});
  ASSIGN_OR_RETURN(pjrt::Client client,
                   pjrt::Client::create(plugin, options,
                                        {.process = process(),
                                         .processes = processes(),
                                         .key_values = coord::shared_values(*coordinator_, "test/"),
                                         .slice = slice}));
  std::lock_guard lock(mutex_);
  client_ = std::make_unique<pjrt::Client>(std::move(client));
  std::vector<pjrt::ProcessState> states;
  for (const auto& [process, state] : states_) states.push_back(state);
  RETURN_IF_ERROR(client_->update_processes(states));
  return client_.get();
}

void Member::take_changes(const std::vector<coord::MemberChange>& changes) {
  std::lock_guard lock(mutex_);
  std::vector<pjrt::ProcessState> states;
  for (const coord::MemberChange& change : changes) {
    // One that leaves in order has done its part; what it sent still arrives.
    if (change.state == coord::MemberChange::kLeft) continue;
    const pjrt::ProcessState state = {.process = change.id.process,
                                      .incarnation = change.id.incarnation,
                                      .alive = change.state == coord::MemberChange::kAlive};
    states_[state.process] = state;
    states.push_back(state);
  }
  if (client_ != nullptr) client_->update_processes(states).IgnoreError();
}

Status Member::meet(const std::string& name) {
  return coordinator_->barrier(name, absl::Minutes(1));
}

std::string Member::setting(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

void Member::print(const std::string& line) {
  const std::string text = str_cat(line, "\n");  // in one write, so that lines stay whole
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

}  // namespace tessera::process_testing
