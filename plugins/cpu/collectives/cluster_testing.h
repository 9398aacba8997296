#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cpu/collectives/launches.h"

/// For tests: processes that are threads of this one, with real connections over loopback.
namespace tessera::pjrt_cpu {

/// A store in memory.
class MemoryKeyValues : public KeyValues {
 public:
  void put(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key, std::chrono::milliseconds timeout) override;
  std::string try_get(const std::string& key) override;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> values_;  // guarded by mutex_
};

/// What became of one device's part of a launch; empty when all went well.
struct DeviceOutcome {
  int code = 0;
  std::string error;
};

class Cluster {
 public:
  explicit Cluster(int processes,
                   std::chrono::milliseconds timeout = std::chrono::milliseconds(20'000));

  ~Cluster();

  /// A device's part: its rank, and a way to its next collective among all devices of the launch.
  struct Device {
    int rank = 0;
    std::function<Launches::Entry()> enter;
    /// The same among the devices at some ranks, of which it is one.
    std::function<Launches::Entry(const std::vector<int>& ranks)> enter_among;
    Launches* launches = nullptr;
    int64_t launch = 0;
  };
  using Body = std::function<void(Device&)>;

  /// One launch over devices that stand for ids: 100 * process + number. Each runs `body` in a
  /// thread of its own. By rank; those of processes in `absent` do not run.
  std::vector<DeviceOutcome> run(const std::vector<int64_t>& devices, const Body& body,
                                 const std::vector<int>& absent = {});

  Launches& launches(int process) { return *launches_[process]; }
  MemoryKeyValues& store() { return store_; }
  uint64_t bytes_sent() const;
  /// By process.
  std::vector<uint64_t> sent_by_each() const;

 private:
  MemoryKeyValues store_;
  std::vector<std::shared_ptr<MemoryPool>> pools_;
  std::vector<std::shared_ptr<Launches>> launches_;
};

}  // namespace tessera::pjrt_cpu
