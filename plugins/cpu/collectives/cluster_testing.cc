#include "plugins/cpu/collectives/cluster_testing.h"

#include <algorithm>
#include <set>
#include <thread>

// Debian's Gloo is not built for the thread sanitizer, which so does not see that its buffers wait
// for its thread before they go.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions();
const char* __tsan_default_suppressions() { return "race:gloo::transport"; }
#endif

namespace tessera::pjrt_cpu {

void MemoryKeyValues::put(const std::string& key, const std::string& value) {
  std::lock_guard lock(mutex_);
  if (!values_.emplace(key, value).second) throw Failure(Failure::kAlreadyExists, key);
}

std::string MemoryKeyValues::get(const std::string& key, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    try {
      return try_get(key);
    } catch (const Failure&) {
      if (std::chrono::steady_clock::now() > deadline)
        throw Failure(Failure::kDeadlineExceeded, key);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string MemoryKeyValues::try_get(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) throw Failure(Failure::kNotFound, key);
  return found->second;
}

Cluster::~Cluster() {
  for (const auto& launches : launches_) {
    if (launches != nullptr) launches->stop();
  }
}

Cluster::Cluster(int processes, std::chrono::milliseconds timeout) {
  for (int process = 0; process < processes; ++process) {
    pools_.push_back(std::make_shared<MemoryPool>());
    launches_.push_back(std::make_shared<Launches>(Launches::Options{
        .process = process,
        .network = std::make_shared<Network>(Network::Options{.address = "127.0.0.1"}),
        .store = &store_,
        .pool = pools_.back(),
        .collective_timeout = timeout}));
  }
}

std::vector<DeviceOutcome> Cluster::run(const std::vector<int64_t>& devices, const Body& body,
                                        const std::vector<int>& absent) {
  std::vector<int> processes;
  for (const int64_t device : devices) processes.push_back(static_cast<int>(device / 100));
  std::set<int> members(processes.begin(), processes.end());
  std::vector<DeviceOutcome> outcomes(devices.size());

  const auto run_device = [&](int process, int rank, int64_t launch) {
    Launches& launches = *launches_[process];
    Device device;
    device.rank = rank;
    device.launches = &launches;
    device.launch = launch;
    device.enter = [&] { return launches.enter(launch, devices, processes, rank); };
    device.enter_among = [&](const std::vector<int>& ranks) {
      std::vector<int64_t> some;
      std::vector<int> some_processes;
      for (const int one : ranks) {
        some.push_back(devices[one]);
        some_processes.push_back(processes[one]);
      }
      const auto own = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
      return launches.enter(launch, some, some_processes, static_cast<int>(own));
    };
    try {
      body(device);
    } catch (const Failure& failure) {
      outcomes[rank] = {failure.code(), failure.what()};
      launches.fail(launch, failure);
    }
  };
  const auto run_process = [&](int process) {
    std::vector<std::thread> threads;
    int64_t launch = 0;
    try {
      launch = launches_[process]->begin({members.begin(), members.end()});
    } catch (const Failure& failure) {
      for (size_t rank = 0; rank < devices.size(); ++rank) {
        if (processes[rank] == process) outcomes[rank] = {failure.code(), failure.what()};
      }
      return;
    }
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      if (processes[rank] == process)
        threads.emplace_back(run_device, process, static_cast<int>(rank), launch);
    }
    for (std::thread& thread : threads) thread.join();
    launches_[process]->end(launch, std::nullopt);
  };

  std::vector<std::thread> threads;
  for (const int process : members) {
    if (std::find(absent.begin(), absent.end(), process) == absent.end())
      threads.emplace_back(run_process, process);
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

uint64_t Cluster::bytes_sent() const {
  uint64_t sum = 0;
  for (const uint64_t one : sent_by_each()) sum += one;
  return sum;
}

std::vector<uint64_t> Cluster::sent_by_each() const {
  std::vector<uint64_t> result;
  for (const auto& launches : launches_)
    result.push_back(launches == nullptr ? 0 : launches->traffic().bytes_sent.load());
  return result;
}

}  // namespace tessera::pjrt_cpu
