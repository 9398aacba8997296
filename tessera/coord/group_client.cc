#include "tessera/coord/group_client.h"

#include <algorithm>
#include <chrono>

#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

// A value that a dead process would have put is not waited for longer than this.
constexpr absl::Duration kLook = absl::Milliseconds(500);

std::vector<ProcessId> sorted(std::vector<ProcessId> processes) {
  std::sort(processes.begin(), processes.end(),
            [](const ProcessId& a, const ProcessId& b) { return a.process < b.process; });
  return processes;
}

}  // namespace

GroupClient::GroupClient(Client& client, Members& members, const LiveSet& set,
                         std::vector<ProcessId> processes, const std::string& name,
                         std::function<void(const GroupClient&)> on_failure)
    : client_(client),
      members_(members),
      processes_(sorted(std::move(processes))),
      prefix_(str_cat("tessera/group/", set.round, "/", name, "/")),
      on_failure_(std::move(on_failure)) {
  rank_ = rank_of({client.process(), client.incarnation()});
  CHECK_MSG(rank_ >= 0, "a group holds the process that makes it");
  subscription_ = std::make_unique<Members::Subscription>(
      members, [this](const std::vector<MemberChange>&) { look(); });
  look();  // what came before
}

void GroupClient::look() {
  {
    const std::lock_guard lock(mutex_);
    for (const ProcessId& id : processes_) {
      if (!failure_.ok()) break;
      failure_ = members_.gone(id);
    }
  }
  if (failure().ok()) return;
  changed_.notify_all();
  on_failure_(*this);
}

Status GroupClient::failure() const {
  RETURN_IF_ERROR(client_.failure());
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status GroupClient::wait_for_failure(absl::Duration timeout) const {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, absl::ToChronoMilliseconds(timeout), [&] { return !failure_.ok(); });
  }
  return failure();
}

int GroupClient::rank_of(const ProcessId& id) const {
  const auto found = std::find(processes_.begin(), processes_.end(), id);
  return found == processes_.end() ? -1 : static_cast<int>(found - processes_.begin());
}

std::vector<int> GroupClient::cluster_numbers(const std::vector<int>& ranks) const {
  std::vector<int> numbers;
  for (const int rank : ranks) {
    const bool known = rank >= 0 && rank < processes();
    numbers.push_back(known ? processes_[static_cast<size_t>(rank)].process : -1);
  }
  if (!ranks.empty()) return numbers;
  for (const ProcessId& id : processes_) numbers.push_back(id.process);
  return numbers;
}

Status GroupClient::explained(const Status& status) const {
  if (status.ok()) return status;
  const Status ended = failure();
  return ended.ok() ? status : ended;
}

Status GroupClient::insert(const std::string& own, const std::string& value, bool overwrite) {
  RETURN_IF_ERROR(failure());
  return explained(client_.insert(key(own), value, overwrite));
}

Result<std::string> GroupClient::get(const std::string& own, absl::Duration timeout) {
  while (true) {
    RETURN_IF_ERROR(failure());
    const absl::Duration slice = std::min(timeout, kLook);
    auto got = client_.get(key(own), slice);
    if (!absl::IsDeadlineExceeded(got.status())) {
      if (got.ok()) return got;
      return explained(got.status());
    }
    timeout -= slice;
    if (timeout <= absl::ZeroDuration()) return got.status();
  }
}

Result<std::string> GroupClient::try_get(const std::string& own) {
  RETURN_IF_ERROR(failure());
  auto got = client_.try_get(key(own));
  if (got.ok()) return got;
  return explained(got.status());
}

Result<int64_t> GroupClient::increment(const std::string& own, int64_t by) {
  RETURN_IF_ERROR(failure());
  return client_.increment(key(own), by);
}

Result<std::vector<std::pair<std::string, std::string>>> GroupClient::list(
    const std::string& prefix) {
  RETURN_IF_ERROR(failure());
  ASSIGN_OR_RETURN(auto pairs, client_.list(key(prefix)));
  for (auto& [name, value] : pairs) name.erase(0, prefix_.size());
  return pairs;
}

Result<int64_t> GroupClient::erase(const std::string& own) {
  RETURN_IF_ERROR(failure());
  return client_.erase(key(own));
}

Result<int64_t> GroupClient::erase_prefix(const std::string& prefix) {
  RETURN_IF_ERROR(failure());
  return client_.erase_prefix(key(prefix));
}

Status GroupClient::barrier(const std::string& id, absl::Duration timeout,
                            const std::vector<int>& ranks) {
  RETURN_IF_ERROR(failure());
  return explained(client_.barrier(key(id), timeout, cluster_numbers(ranks)));
}

Result<std::vector<BarrierArrival>> GroupClient::timed_barrier(const std::string& id,
                                                               absl::Duration timeout,
                                                               const std::vector<int>& ranks) {
  RETURN_IF_ERROR(failure());
  auto arrivals = client_.timed_barrier(key(id), timeout, cluster_numbers(ranks));
  if (!arrivals.ok()) return explained(arrivals.status());
  for (BarrierArrival& arrival : *arrivals) {
    const auto found =
        std::find_if(processes_.begin(), processes_.end(),
                     [&](const ProcessId& one) { return one.process == arrival.process; });
    arrival.process = static_cast<int>(found - processes_.begin());
  }
  return arrivals;
}

Status GroupClient::cancel_barrier(const std::string& id) {
  RETURN_IF_ERROR(failure());
  return client_.cancel_barrier(key(id));
}

Result<LiveSet> GroupClient::live_set(const std::vector<int>& ranks, absl::Duration timeout) {
  RETURN_IF_ERROR(failure());
  ASSIGN_OR_RETURN(LiveSet set, client_.live_set(cluster_numbers(ranks), timeout));
  std::erase_if(set.processes, [&](const ProcessId& id) { return rank_of(id) < 0; });
  for (ProcessId& id : set.processes) id.process = rank_of(id);
  return set;
}

Status GroupClient::report_error(const Status& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_.Update(error);
  }
  changed_.notify_all();
  return client_.declare_dead({client_.process(), client_.incarnation()},
                              str_cat("failed: ", from_absl(error.message())));
}

Status GroupClient::declare_dead(const ProcessId& id, const std::string& why) {
  const std::vector<int> numbers = cluster_numbers({id.process});
  return client_.declare_dead({numbers[0], id.incarnation}, why);
}

}  // namespace tessera::coord
