#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/cpu/collectives/communicator.h"
#include "plugins/cpu/collectives/under_way.h"

namespace tessera::pjrt_cpu {

/// Which programs run over which processes, and the communicators that they use.
///
/// All processes launch the programs that they share in the same order. So a launch has a number
/// among those of the same processes that needs no talk, and with the count of collectives within
/// the launch that is a collective's tag: launches that run at the same time do not mix.
///
/// When a collective fails, everything under way among the same processes fails, at once and in all
/// of them, because none of it can end: its connections are closed, and the next launch makes new
/// ones. Safe to use from several threads.
class Launches : public std::enable_shared_from_this<Launches> {
 public:
  struct Options {
    int process = 0;
    std::shared_ptr<Network> network;
    KeyValues* store = nullptr;  ///< outlives this
    std::shared_ptr<MemoryPool> pool;
    std::chrono::milliseconds collective_timeout{600'000};
    /// Launches that may be under way at a time; the next one waits. XLA holds a thread for each
    /// device of each launch, and its threads are limited.
    int most_under_way = 4;
  };
  /// To be owned by a shared_ptr: connections outlive their last use by a moment.
  explicit Launches(Options options);

  /// Begins a launch on devices of `processes` (ascending): its id, which is not 0. Blocks while
  /// too many are under way, unless it is on a `single_device`, which waits for nobody. Throws
  /// Failure, UNAVAILABLE, when one of the processes is dead.
  int64_t begin(const std::vector<int>& processes, bool single_device = false);
  /// All of its devices are done. An error of theirs, in words, ends what waits for them.
  void end(int64_t launch, const std::optional<std::string>& error);

  /// A collective of a device, to be given back to fail() when it throws.
  struct Entry {
    std::shared_ptr<Communicator> communicator;
    Operation operation;
    int64_t launch = 0;
  };
  /// The next collective of `rank` in a launch among `devices`, of which `processes` are the
  /// processes. Throws Failure.
  Entry enter(int64_t launch, const std::vector<int64_t>& devices,
              const std::vector<int>& processes, int rank);
  void fail(int64_t launch, const Failure& failure);

  /// What became of a process. A death fails what is under way with it, as does an incarnation that
  /// is not the one told before.
  void update(int process, uint64_t incarnation, bool alive);

  /// Leaves all others in order. Nothing is under way any more and nothing begins; the store is not
  /// used after this.
  void stop();

  Traffic& traffic() { return options_.network->traffic(); }
  UnderWay& collectives_under_way() { return collectives_under_way_; }

 private:
  /// Everything that one set of processes shares.
  struct World {
    std::string key;  // of these starts of the processes
    int attempt = 0;  // how many worlds of that key have failed
    std::vector<int> processes;
    uint64_t launches = 0;
    std::optional<Failure> failure;
    std::map<std::vector<int64_t>, std::shared_ptr<Communicator>> communicators;
  };
  struct Launch {
    std::shared_ptr<World> world;
    uint64_t number = 0;
    bool single_device = false;
    std::map<std::pair<const Communicator*, int>, uint64_t> collectives;
  };

  std::shared_ptr<World> find_world(const std::vector<int>& processes);
  std::string starts_of(const std::vector<int>& processes);
  bool has_failed(const std::string& key, int attempt);
  void check_wanted(const std::string& key, int attempt);
  void fail_world(const std::shared_ptr<World>& world, const Failure& failure);
  void fail_worlds_with(int process, const std::string& reason);

  const Options options_;
  UnderWay collectives_under_way_;
  std::mutex store_mutex_;  // held while a thread of a communicator's uses the store
  bool stopped_ = false;    // guarded by store_mutex_
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<int64_t, Launch> launches_;  // guarded by mutex_, as all below
  int64_t next_launch_ = 1;
  int under_way_ = 0;  // of several devices
  std::map<std::vector<int>, std::shared_ptr<World>> worlds_;
  std::map<std::string, int> next_attempt_;  // by key
  std::map<int, uint64_t> incarnations_;
  std::set<int> dead_;
};

}  // namespace tessera::pjrt_cpu
