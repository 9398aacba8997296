#include "tessera/runtime/runtime.h"

#include "tessera/base/log.h"
#include "tessera/pjrt/cpu_environment.h"
#include "tessera/pjrt/plugin.h"
#include "tessera/runtime/executable_cache.h"
#include "tessera/runtime/launch_order.h"
#include "tessera/runtime/transfer.h"

namespace tessera {
namespace {

const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}

std::shared_ptr<LaunchOrder> make_launch_order(const pjrt::ProcessGroup& group,
                                               const std::shared_ptr<const pjrt::Client>& client) {
  // All processes make their runtimes in one order, so a count tells apart the keys of several;
  // where one may have made fewer, the keys are of this one alone.
  static std::atomic<int> runtimes = 0;
  // To the plugin the others count as dead then, so that nothing waits for them any longer.
  const auto abort = [weak = std::weak_ptr(client), group] {
    const auto client = weak.lock();
    if (client == nullptr) return;
    std::vector<pjrt::ProcessState> others;
    for (int process = 0; process < group.processes; ++process)
      if (process != group.process) others.push_back({.process = process, .alive = false});
    const Status told = client->update_processes(others);
    if (!told.ok())
      log_warning("what waits for other processes goes on waiting: ", from_absl(told.message()));
  };
  return std::make_shared<LaunchOrder>(LaunchOrderOptions{
      .process = group.process,
      .processes = group.processes,
      .key_values = group.key_values,
      .name = str_cat("launch_order/", group.own_key_values ? 0 : runtimes++, "/"),
      .abort = abort});
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::create(const RuntimeOptions& options) {
  if (options.cpu_devices > 0)
    pjrt::prepare_cpu_environment(options.cpu_devices, options.compile_only);
  ASSIGN_OR_RETURN(const pjrt::Plugin plugin, pjrt::Plugin::load(options.plugin));
  std::vector<pjrt::NamedValue> client_options = options.client_options;
  if (options.cpu_devices > 0) {
    client_options.push_back({"cpu_device_count", int64_t{options.cpu_devices}});
  }
  ASSIGN_OR_RETURN(pjrt::Client client,
                   pjrt::Client::create(plugin, client_options, options.group));
  const size_t devices = client.addressable_devices().size();
  if (static_cast<int>(devices) < options.cpu_devices) {
    return failed_precondition("plugin ", plugin.path(), " makes ", devices,
                               " devices, asked for were ", options.cpu_devices,
                               "; it may read XLA_FLAGS=--xla_force_host_platform_device_count=",
                               options.cpu_devices, " from the environment instead");
  }
  auto runtime = std::make_unique<Runtime>(std::make_shared<const pjrt::Client>(std::move(client)));
  if (options.group.processes > 1 && options.check_launch_order)
    runtime->dispatch_->launch_order = make_launch_order(options.group, runtime->client_);
  return runtime;
}

Runtime::Runtime(std::shared_ptr<const pjrt::Client> client, const Clock* clock)
    : client_(std::move(client)),
      executables_(
          std::make_unique<ExecutableCache>(client_, clock != nullptr ? *clock : real_clock())),
      transfers_(std::make_unique<TransferCache>()) {}

Runtime::~Runtime() {
  // Arrays may live on, but what the processes meet through may not.
  if (dispatch_->launch_order != nullptr) dispatch_->launch_order->stop();
}

Result<Mesh> Runtime::mesh(std::vector<MeshAxis> axes) const {
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : client_->devices()) ids.push_back(device.id());
  return Mesh::create(std::move(axes), std::move(ids));
}

Result<std::vector<Runtime::LocalDevice>> Runtime::local_devices(const Mesh& mesh) const {
  std::vector<LocalDevice> result;
  for (int64_t position = 0; position < mesh.size(); ++position) {
    ASSIGN_OR_RETURN(const pjrt::Device device,
                     client_->device(static_cast<int>(mesh.device_ids()[position])));
    if (device.is_addressable()) result.push_back({position, device});
  }
  return result;
}

Result<std::vector<int64_t>> Runtime::processes(const Mesh& mesh) const {
  std::vector<int64_t> result;
  for (int64_t id : mesh.device_ids()) {
    ASSIGN_OR_RETURN(const pjrt::Device device, client_->device(static_cast<int>(id)));
    result.push_back(device.process_index());
  }
  return result;
}

RuntimeMetrics Runtime::metrics() const {
  const ExecutableCache::Counts counts = executables_->counts();
  return {.compilations = counts.compilations,
          .compile_seconds = counts.compile_seconds,
          .cache_hits = counts.hits,
          .dispatches = dispatch_->dispatches,
          .bytes_to_devices = dispatch_->bytes_to_devices};
}

}  // namespace tessera
