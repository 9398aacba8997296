#include "plugins/cpu/collectives/launches.h"

#include <algorithm>
#include <utility>

#include "plugins/cpu/collectives/exchange.h"

namespace tessera::pjrt_cpu {
namespace {

constexpr int kCollectiveBits = 24;  // of a tag; the rest numbers the launch

// Keys are limited to some KiB, and lists of devices are not.
std::string digest(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  char out[17];
  snprintf(out, sizeof(out), "%016lx", static_cast<unsigned long>(hash));
  return out;
}

template <typename Numbers>
std::string join(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string failed_key(const std::string& key, int attempt) {
  return key + std::to_string(attempt) + "/failed";
}

// What cannot end takes down what depends on it; a wrong argument is everyone's own error.
bool breaks(const Failure& failure) {
  return failure.code() != Failure::kInvalidArgument && failure.code() != Failure::kUnimplemented;
}

}  // namespace

Launches::Launches(Options options) : options_(std::move(options)) {}

// Which start of each process this is: those that came back count on.
std::string Launches::starts_of(const std::vector<int>& processes) {
  std::string text;
  for (const int process : processes) {
    text += std::to_string(process) + ":" + std::to_string(count_starts(*options_.store, process)) +
            ",";
  }
  return text;
}

std::shared_ptr<Launches::World> Launches::find_world(const std::vector<int>& processes) {
  {
    std::lock_guard lock(mutex_);
    if (const auto found = worlds_.find(processes); found != worlds_.end()) return found->second;
  }
  const bool alone = processes.size() == 1;
  const std::string key = alone ? "own" : "world/" + digest(starts_of(processes)) + "/";
  int attempt = 0;
  {
    std::lock_guard lock(mutex_);
    attempt = next_attempt_[key];
  }
  // Whoever saw one fail first has written it down, so that all go on with the same one.
  while (!alone && has_failed(key, attempt)) ++attempt;
  std::lock_guard lock(mutex_);
  auto& world = worlds_[processes];
  if (world == nullptr) {
    world = std::make_shared<World>();
    world->processes = processes;
    world->key = key;
    world->attempt = attempt;
    next_attempt_[key] = attempt + 1;  // this process needs another one only when this has failed
  }
  return world;
}

bool Launches::has_failed(const std::string& key, int attempt) {
  try {
    options_.store->try_get(failed_key(key, attempt));
    return true;
  } catch (const Failure& failure) {
    if (failure.code() != Failure::kNotFound) throw;
    return false;
  }
}

// Another process may have failed before it connected, of which no connection tells.
void Launches::check_wanted(const std::string& key, int attempt) {
  if (has_failed(key, attempt))
    throw Failure(Failure::kUnavailable, "another process has given this launch up");
}

int64_t Launches::begin(const std::vector<int>& processes, bool single_device) {
  const std::shared_ptr<World> world = find_world(processes);
  std::unique_lock lock(mutex_);
  ended_.wait(lock,
              [&] { return single_device || under_way_ < std::max(1, options_.most_under_way); });
  for (const int process : processes) {
    if (dead_.contains(process)) {
      throw Failure(Failure::kUnavailable,
                    "the program runs on process " + std::to_string(process) +
                        ", which has died: compile it for devices of processes that live");
    }
  }
  if (world->failure) throw *world->failure;  // while this waited
  const int64_t id = next_launch_;
  next_launch_ = next_launch_ % std::numeric_limits<int32_t>::max() + 1;
  launches_[id] = {.world = world,
                   .number = world->launches++,
                   .single_device = single_device,
                   .collectives = {}};
  if (!single_device) ++under_way_;
  return id;
}

void Launches::end(int64_t launch, const std::optional<std::string>& error) {
  if (error) fail(launch, Failure(Failure::kUnavailable, *error));
  std::lock_guard lock(mutex_);
  const auto found = launches_.find(launch);
  if (found == launches_.end()) return;
  if (!found->second.single_device) --under_way_;
  launches_.erase(found);
  ended_.notify_all();
}

Launches::Entry Launches::enter(int64_t launch, const std::vector<int64_t>& devices,
                                const std::vector<int>& processes, int rank) {
  std::lock_guard lock(mutex_);
  const auto found = launches_.find(launch);
  if (found == launches_.end()) {
    throw Failure(Failure::kFailedPrecondition,
                  "a collective runs outside of a launch: programs over several devices must be "
                  "executed on all of them at once");
  }
  Launch& under_way = found->second;
  World& world = *under_way.world;
  if (world.failure) throw *world.failure;
  auto& communicator = world.communicators[devices];
  if (communicator == nullptr) {
    communicator = std::make_shared<Communicator>(
        CommunicatorOptions{
            .network = options_.network,
            .pool = options_.pool,
            .store = *options_.store,
            .name = world.key + std::to_string(world.attempt) + "/" + digest(join(devices)),
            .process = options_.process,
            .broken =
                [self = weak_from_this(),
                 world = std::weak_ptr(under_way.world)](const Failure& failure) {
                  const auto launches = self.lock();
                  const auto failed = world.lock();
                  if (launches != nullptr && failed != nullptr)
                    launches->fail_world(failed, failure);
                },
            .check_wanted = [this, key = world.key,
                             attempt = world.attempt] { check_wanted(key, attempt); }},
        processes);
  }
  const uint64_t index = under_way.collectives[{communicator.get(), rank}]++;
  const uint64_t tag =
      (under_way.number << kCollectiveBits) | (index & ((uint64_t{1} << kCollectiveBits) - 1));
  return {
      communicator, {tag, std::chrono::steady_clock::now() + options_.collective_timeout}, launch};
}

void Launches::fail_world(const std::shared_ptr<World>& world, const Failure& failure) {
  std::vector<std::shared_ptr<Communicator>> to_abort;
  {
    std::lock_guard lock(mutex_);
    if (world->failure) return;
    world->failure = failure;
    for (const auto& [devices, communicator] : world->communicators)
      to_abort.push_back(communicator);
    const auto current = worlds_.find(world->processes);
    if (current != worlds_.end() && current->second == world) worlds_.erase(current);
  }
  for (const auto& communicator : to_abort) communicator->abort(failure.what());
  std::lock_guard store_lock(store_mutex_);
  if (world->processes.size() == 1 || stopped_) return;
  try {
    options_.store->put(failed_key(world->key, world->attempt), failure.what());
  } catch (const Failure&) {  // another process was first, or the store is lost
  }
}

void Launches::fail(int64_t launch, const Failure& failure) {
  if (!breaks(failure)) return;
  std::shared_ptr<World> world;
  {
    std::lock_guard lock(mutex_);
    const auto found = launches_.find(launch);
    if (found == launches_.end()) return;
    world = found->second.world;
  }
  fail_world(world, failure);
}

void Launches::fail_worlds_with(int process, const std::string& reason) {
  const Failure failure(Failure::kUnavailable, reason);
  std::vector<std::shared_ptr<World>> worlds;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [processes, world] : worlds_) {
      if (std::find(processes.begin(), processes.end(), process) != processes.end())
        worlds.push_back(world);
    }
  }
  for (const auto& world : worlds) fail_world(world, failure);
}

void Launches::stop() {
  {
    std::lock_guard store_lock(store_mutex_);
    stopped_ = true;
  }
  std::map<std::vector<int>, std::shared_ptr<World>> worlds;
  std::lock_guard lock(mutex_);
  worlds.swap(worlds_);
  launches_.clear();
}

void Launches::update(int process, uint64_t incarnation, bool alive) {
  if (process == options_.process) return;
  bool changed = false, died = false;
  {
    std::lock_guard lock(mutex_);
    if (alive) {
      dead_.erase(process);
      uint64_t& known = incarnations_[process];
      changed = known != 0 && incarnation != 0 && known != incarnation;
      if (incarnation != 0) known = incarnation;
    } else {
      died = dead_.insert(process).second;
    }
  }
  const std::string name = "process " + std::to_string(process);
  if (died) fail_worlds_with(process, name + " has died");
  if (changed) fail_worlds_with(process, name + " has been started again");
}

}  // namespace tessera::pjrt_cpu
