// The client: its devices, and the questions about it.
#include <sched.h>

#include "plugins/cpu/client_options.h"
#include "plugins/cpu/cross_process.h"
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

// ---- creation
// -------------------------------------------------------------------------------------------------------

class PooledMemory : public xla::CpuMemory {
 public:
  PooledMemory(std::shared_ptr<MemoryPool> pool, MemoryPool::Block block, size_t bytes)
      : pool_(std::move(pool)), block_(block), bytes_(bytes) {}
  ~PooledMemory() override { pool_->release(block_, bytes_); }
  void* base() const override { return block_.data; }
  size_t size_bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<MemoryPool> pool_;
  const MemoryPool::Block block_;
  const size_t bytes_;
};

absl::StatusOr<std::unique_ptr<xla::CpuMemory>> allocate(const std::shared_ptr<MemoryPool>& pool,
                                                         size_t bytes, size_t alignment) {
  const MemoryPool::Block block = pool->allocate(bytes, alignment);
  if (block.data != nullptr) return std::make_unique<PooledMemory>(pool, block, bytes);
  const PoolStats stats = pool->stats();
  std::string message =
      absl::StrCat("out of memory allocating ", bytes, " bytes; in use ", stats.in_use);
  if (stats.limit > 0)
    absl::StrAppend(&message, " of a limit of ", stats.limit,
                    " (create option 'memory_limit_bytes')");
  return absl::ResourceExhaustedError(message);
}

// XLA's thread pool must be larger than the devices that wait in a collective, or they wait for
// ever. It reads this variable; a value that the user has set is kept. Returns the threads of each
// of its pools.
int64_t widen_thread_pool(int64_t devices, bool several_processes) {
  static std::mutex mutex;
  static bool ours = false;
  std::lock_guard lock(mutex);
  cpu_set_t set;
  const int64_t cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const char* given = std::getenv("PJRT_NPROC");
  if (given != nullptr && !ours) return std::max<int64_t>(devices, std::atoll(given));
  if (devices < 2 && !several_processes) {  // no collectives, so the default is right
    if (ours) unsetenv("PJRT_NPROC");
    return cores;
  }
  ours = true;
  const int64_t threads = std::max(cores, (several_processes ? 8 : 4) * devices);
  setenv("PJRT_NPROC", absl::StrCat(threads).c_str(), 1);
  return threads;
}

void wrap_memories(PJRT_Client* client) {
  for (xla::PjRtMemorySpace* space : client->client->memory_spaces()) {
    auto& memory = client->owned_memories.emplace_back(std::make_unique<PJRT_Memory>());
    memory->client = client;
    memory->space = space;
    client->memories.push_back(memory.get());
    client->memory_of[space] = memory.get();
  }
}

void wrap_own_device(PJRT_Client* client, xla::PjRtDevice* xla_device, PJRT_Device* device) {
  device->device = xla_device;
  client->device_of[xla_device] = device;
  if (xla_device->IsAddressable()) client->addressable_devices.push_back(device);
  for (xla::PjRtMemorySpace* space : xla_device->memory_spaces()) {
    device->memories.push_back(client->memory_of[space]);
    client->memory_of[space]->devices.push_back(device);
  }
  if (auto space = xla_device->default_memory_space(); space.ok())
    device->default_memory = client->memory_of[*space];
}

// All devices of all processes, as the topology has them; those of other processes are described
// and nothing more.
void wrap_devices(PJRT_Client* client) {
  absl::flat_hash_map<int, xla::PjRtDevice*> own;
  for (xla::PjRtDevice* device : client->client->devices())
    own[device->global_device_id().value()] = device;
  for (const auto& description : client->topology->topology->DeviceDescriptions()) {
    auto& device = client->owned_devices.emplace_back(std::make_unique<PJRT_Device>());
    device->client = client;
    describe(*description, &device->description);
    if (client->cross_process != nullptr) {
      add_slice(client->cross_process->processes[device->description.process_index],
                &device->description);
    }
    client->devices.push_back(device.get());
    if (const auto found = own.find(description->id()); found != own.end())
      wrap_own_device(client, found->second, device.get());
  }
}

absl::Status describe_topology(PJRT_Client* client) {
  TF_ASSIGN_OR_RETURN(const xla::PjRtTopologyDescription* topology,
                      client->client->GetTopologyDescription());
  const auto& cpu = *static_cast<const xla::CpuTopologyDescription*>(topology);
  std::vector<xla::CpuTopology::CpuDevice> devices(cpu.cpu_topology().devices().begin(),
                                                   cpu.cpu_topology().devices().end());
  if (client->cross_process != nullptr) {
    devices.clear();
    const auto& processes = client->cross_process->processes;
    for (size_t p = 0; p < processes.size(); ++p) {
      for (int64_t i = 0; i < processes[p].devices; ++i)
        devices.push_back({static_cast<int>(p), static_cast<int>(i)});
    }
  }
  client->topology =
      make_topology(std::make_unique<xla::CpuTopologyDescription>(
                        cpu.platform_id(), cpu.platform_name(), cpu.platform_version(),
                        std::move(devices), cpu.cpu_topology().machine_attributes()),
                    client->platform_name);
  return absl::OkStatus();
}

absl::Status client_create(PJRT_Client_Create_Args& args) {
  TF_ASSIGN_OR_RETURN(const ClientOptions options, read_options(args));
  const int64_t threads = widen_thread_pool(options.cpu_device_count, options.num_nodes > 1);
  auto client = std::make_unique<PJRT_Client>();
  client->pool = std::make_shared<MemoryPool>(options.memory_limit_bytes);
  xla::CpuClientOptions xla_options;
  xla_options.cpu_device_count = static_cast<int>(options.cpu_device_count);
  xla_options.process_id = static_cast<int>(options.node_id);
  xla_options.allocator = [pool = client->pool](size_t bytes, size_t alignment) {
    return allocate(pool, bytes, alignment);
  };
  if (options.num_nodes > 1) {
    TF_ASSIGN_OR_RETURN(client->cross_process,
                        connect_processes(args, options, client->pool, threads));
    xla_options.collectives = make_collectives(client->cross_process->launches);
  }
  TF_ASSIGN_OR_RETURN(client->client, xla::GetXlaPjrtCpuClient(std::move(xla_options)));
  client->platform_name = options.platform_name;
  client->platform_version = "tessera 0.1.0, XLA of tensorflow-cpu 2.21.0";
  client->process_index = static_cast<int>(options.node_id);
  TF_RETURN_IF_ERROR(describe_topology(client.get()));
  wrap_memories(client.get());
  wrap_devices(client.get());
  args.client = client.release();
  return absl::OkStatus();
}

absl::Status client_destroy(PJRT_Client_Destroy_Args& args) {
  delete args.client;
  return absl::OkStatus();
}

// ---- questions
// ------------------------------------------------------------------------------------------------------

absl::Status client_platform_name(PJRT_Client_PlatformName_Args& args) {
  return give(args.client->platform_name, args.platform_name, args.platform_name_size);
}

absl::Status client_process_index(PJRT_Client_ProcessIndex_Args& args) {
  args.process_index = args.client->process_index;
  return absl::OkStatus();
}

absl::Status client_platform_version(PJRT_Client_PlatformVersion_Args& args) {
  return give(args.client->platform_version, args.platform_version, args.platform_version_size);
}

absl::Status client_topology(PJRT_Client_TopologyDescription_Args& args) {
  args.topology = args.client->topology.get();
  return absl::OkStatus();
}

absl::Status client_devices(PJRT_Client_Devices_Args& args) {
  return give(args.client->devices, args.devices, args.num_devices);
}

absl::Status client_addressable_devices(PJRT_Client_AddressableDevices_Args& args) {
  return give(args.client->addressable_devices, args.addressable_devices,
              args.num_addressable_devices);
}

absl::Status client_addressable_memories(PJRT_Client_AddressableMemories_Args& args) {
  return give(args.client->memories, args.addressable_memories, args.num_addressable_memories);
}

absl::Status client_lookup_device(PJRT_Client_LookupDevice_Args& args) {
  for (PJRT_Device* device : args.client->devices) {
    if (device->description.id != args.id) continue;
    args.device = device;
    return absl::OkStatus();
  }
  return invalid(absl::StrCat("no device has id ", args.id, "; there are ",
                              args.client->devices.size(), " devices"));
}

absl::Status client_lookup_addressable_device(PJRT_Client_LookupAddressableDevice_Args& args) {
  for (PJRT_Device* device : args.client->addressable_devices) {
    if (device->device->local_hardware_id().value() != args.local_hardware_id) continue;
    args.addressable_device = device;
    return absl::OkStatus();
  }
  return invalid(
      absl::StrCat("no addressable device has local hardware id ", args.local_hardware_id));
}

absl::Status client_default_device_assignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  if (args.num_replicas < 1 || args.num_partitions < 1)
    return invalid("num_replicas and num_partitions must be at least 1");
  const size_t wanted =
      static_cast<size_t>(args.num_replicas) * static_cast<size_t>(args.num_partitions);
  if (args.default_assignment_size < wanted) {
    return invalid(absl::StrCat("default_assignment_size is ", args.default_assignment_size, ", ",
                                wanted, " are needed"));
  }
  TF_RETURN_IF_ERROR(require(args.default_assignment, "default_assignment"));
  if (wanted > args.client->devices.size()) {
    return invalid(absl::StrCat(args.num_replicas, " replicas x ", args.num_partitions,
                                " partitions need ", wanted, " devices, the client has ",
                                args.client->devices.size()));
  }
  if (args.client->cross_process != nullptr) {  // XLA's client knows only this process's devices
    for (size_t i = 0; i < wanted; ++i)
      args.default_assignment[i] = args.client->devices[i]->description.id;
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(
      const xla::DeviceAssignment assignment,
      args.client->client->GetDefaultDeviceAssignment(args.num_replicas, args.num_partitions));
  int* out = args.default_assignment;
  for (int replica = 0; replica < args.num_replicas; ++replica) {
    for (int partition = 0; partition < args.num_partitions; ++partition)
      *out++ = assignment(replica, partition);
  }
  return absl::OkStatus();
}

absl::Status client_dma_map(PJRT_Client_DmaMap_Args& args) {
  return args.client->client->DmaMap(args.data, args.size);
}

absl::Status client_dma_unmap(PJRT_Client_DmaUnmap_Args& args) {
  return args.client->client->DmaUnmap(args.data);
}

}  // namespace

void fill_client_slots(PJRT_Api& api) {
  TESSERA_SLOT_PLAIN(api, PJRT_Client_Create, client_create);
  TESSERA_SLOT(api, PJRT_Client_Destroy, client, client_destroy);
  TESSERA_SLOT(api, PJRT_Client_PlatformName, client, client_platform_name);
  TESSERA_SLOT(api, PJRT_Client_ProcessIndex, client, client_process_index);
  TESSERA_SLOT(api, PJRT_Client_PlatformVersion, client, client_platform_version);
  TESSERA_SLOT(api, PJRT_Client_TopologyDescription, client, client_topology);
  TESSERA_SLOT(api, PJRT_Client_Devices, client, client_devices);
  TESSERA_SLOT(api, PJRT_Client_AddressableDevices, client, client_addressable_devices);
  TESSERA_SLOT(api, PJRT_Client_AddressableMemories, client, client_addressable_memories);
  TESSERA_SLOT(api, PJRT_Client_LookupDevice, client, client_lookup_device);
  TESSERA_SLOT(api, PJRT_Client_LookupAddressableDevice, client, client_lookup_addressable_device);
  TESSERA_SLOT(api, PJRT_Client_DefaultDeviceAssignment, client, client_default_device_assignment);
  TESSERA_SLOT(api, PJRT_Client_DmaMap, client, client_dma_map);
  TESSERA_SLOT(api, PJRT_Client_DmaUnmap, client, client_dma_unmap);
}

}  // namespace tessera::pjrt_cpu
