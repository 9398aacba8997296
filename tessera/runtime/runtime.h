#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/status.h"
#include "tessera/pjrt/client.h"
#include "tessera/sharding/mesh.h"

namespace tessera {

class ExecutableCache;
class LaunchOrder;
class Timeline;
class TransferCache;

/// What calls of one runtime share. Safe to use from several threads.
struct DispatchState {
  /// Held while a program is put on the queues of several devices: all queues must have the
  /// programs in one order, or their collectives would wait for each other.
  std::mutex order;
  std::atomic<int64_t> dispatches = 0;
  std::atomic<int64_t> bytes_to_devices = 0;
  /// Where launches are recorded; null: nowhere.
  std::atomic<std::shared_ptr<Timeline>> timeline;
  /// Of a group of several processes; null where it is not checked.
  std::shared_ptr<LaunchOrder> launch_order;
};

struct RuntimeOptions {
  /// A path or a short name: "cpu", "cuda", "rocm", "tpu".
  std::string plugin = "cpu";
  /// Devices that a CPU plugin shall make; 0 leaves it to the plugin. Otherwise the environment is
  /// prepared for it: see pjrt/cpu_environment.h.
  int cpu_devices = 0;
  /// No program will be run: a CPU plugin makes no threads for that, which with hundreds of devices
  /// saves time and memory.
  bool compile_only = false;
  /// The processes whose devices make one client; alone unless given.
  pjrt::ProcessGroup group = {};
  /// Where there are several processes: check that all launch the same programs, and fail in all of
  /// them where they do not. See launch_order.h.
  bool check_launch_order = true;
  /// More options of the plugin's own.
  std::vector<pjrt::NamedValue> client_options;
};

/// What has been done so far.
struct RuntimeMetrics {
  int64_t compilations = 0;
  double compile_seconds = 0;
  /// Programs that were asked for and found compiled.
  int64_t cache_hits = 0;
  /// Calls of compiled programs.
  int64_t dispatches = 0;
  /// Bytes sent to devices from host memory, copies for replicas included.
  int64_t bytes_to_devices = 0;
};

/// A plugin with its client and devices, the programs compiled so far, and counts of what was done.
/// Safe to use from several threads. It must outlive the calls that get it, but not the arrays and
/// programs that they return.
class Runtime {
 public:
  /// Loads the plugin and opens its devices. An error when a CPU plugin makes fewer devices than
  /// asked for says how to get more.
  static Result<std::unique_ptr<Runtime>> create(const RuntimeOptions& options);
  /// Over a client that exists. `clock` must outlive the runtime; null is the real one.
  explicit Runtime(std::shared_ptr<const pjrt::Client> client, const Clock* clock = nullptr);
  ~Runtime();

  const pjrt::Client& client() const { return *client_; }
  /// A mesh over all devices in the order of their ids. One axis may be -1. An error tells how many
  /// devices there are.
  Result<Mesh> mesh(std::vector<MeshAxis> axes) const;
  /// A device of this process in a mesh.
  struct LocalDevice {
    int64_t position;
    pjrt::Device device;
  };
  /// By ascending position. An error for a device that does not exist.
  Result<std::vector<LocalDevice>> local_devices(const Mesh& mesh) const;
  /// The process of the device at each position of the mesh. An error for a device that does not
  /// exist.
  Result<std::vector<int64_t>> processes(const Mesh& mesh) const;
  RuntimeMetrics metrics() const;
  /// From now on each launch is recorded in `timeline`; null ends that.
  void record(std::shared_ptr<Timeline> timeline) { dispatch_->timeline = std::move(timeline); }

  /// The check of what this process and others launch; null where there is none.
  LaunchOrder* launch_order() const { return dispatch_->launch_order.get(); }

  // For the functions of this layer.
  ExecutableCache& executables() { return *executables_; }
  TransferCache& transfers() { return *transfers_; }
  const std::shared_ptr<DispatchState>& dispatch() { return dispatch_; }

 private:
  std::shared_ptr<const pjrt::Client> client_;
  std::unique_ptr<ExecutableCache> executables_;
  std::unique_ptr<TransferCache> transfers_;
  std::shared_ptr<DispatchState> dispatch_ = std::make_shared<DispatchState>();
};

}  // namespace tessera
