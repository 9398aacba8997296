// The client: its options, its devices, and the questions about it.
#include <sched.h>

#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

// ---- create options
// -------------------------------------------------------------------------------------------------

/// What PJRT_Client_Create takes; the README's table says the same.
struct ClientOptions {
  int64_t cpu_device_count = 1;
  int64_t node_id = 0;
  int64_t num_nodes = 1;
  int64_t memory_limit_bytes = 0;  // of the pool; 0: none
  std::string platform_name = "cpu";
};

constexpr std::string_view kOptionNames[] = {"cpu_device_count", "node_id", "num_nodes",
                                             "memory_limit_bytes", "platform_name"};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

absl::Status unknown_option(std::string_view name) {
  const auto nearest = std::min_element(
      std::begin(kOptionNames), std::end(kOptionNames),
      [&](auto a, auto b) { return edit_distance(name, a) < edit_distance(name, b); });
  return invalid(absl::StrCat("unknown create option '", name, "'; did you mean '", *nearest,
                              "'? Known: ", absl::StrJoin(kOptionNames, ", ")));
}

absl::Status take_int(const PJRT_NamedValue& option, std::string_view name, int64_t low,
                      int64_t high, int64_t* to) {
  if (option.type != PJRT_NamedValue_kInt64)
    return invalid(absl::StrCat("create option '", name, "' must be an integer"));
  if (option.int64_value < low || option.int64_value > high) {
    return invalid(absl::StrCat("create option '", name, "' is ", option.int64_value,
                                ", must be from ", low, " to ", high));
  }
  *to = option.int64_value;
  return absl::OkStatus();
}

absl::Status take_option(const PJRT_NamedValue& option, ClientOptions* to) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  TF_RETURN_IF_ERROR(
      check_struct_size("PJRT_NamedValue", PJRT_NamedValue_STRUCT_SIZE, option.struct_size));
  TF_RETURN_IF_ERROR(require(option.name, "create_options.name"));
  const std::string_view name = view(option.name, option.name_size);
  if (name == "cpu_device_count")
    return take_int(option, name, 1, xla::kMaxCpuDevicesPerProcess - 1, &to->cpu_device_count);
  if (name == "node_id") return take_int(option, name, 0, 1 << 20, &to->node_id);
  if (name == "num_nodes") return take_int(option, name, 1, 1 << 20, &to->num_nodes);
  if (name == "memory_limit_bytes")
    return take_int(option, name, 0, kMost, &to->memory_limit_bytes);
  if (name == "platform_name") {
    if (option.type != PJRT_NamedValue_kString || option.string_value == nullptr ||
        option.value_size == 0) {
      return invalid("create option 'platform_name' must be a string that is not empty");
    }
    to->platform_name = view(option.string_value, option.value_size);
    return absl::OkStatus();
  }
  return unknown_option(name);
}

absl::StatusOr<ClientOptions> read_options(const PJRT_Client_Create_Args& args) {
  ClientOptions options;
  if (args.num_options > 0) TF_RETURN_IF_ERROR(require(args.create_options, "create_options"));
  for (size_t i = 0; i < args.num_options; ++i)
    TF_RETURN_IF_ERROR(take_option(args.create_options[i], &options));
  if (options.node_id >= options.num_nodes) {
    return invalid(absl::StrCat("create option 'node_id' is ", options.node_id,
                                ", but there are only ", options.num_nodes,
                                " nodes ('num_nodes')"));
  }
  if (options.num_nodes > 1) {
    return absl::UnimplementedError(
        absl::StrCat("create option 'num_nodes' is ", options.num_nodes,
                     ": this plugin does not connect several processes yet, use 1"));
  }
  return options;
}

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
// ever. It reads this variable; a value that the user has set is kept.
void widen_thread_pool(int64_t devices) {
  static std::mutex mutex;
  static bool ours = false;
  std::lock_guard lock(mutex);
  if (std::getenv("PJRT_NPROC") != nullptr && !ours) return;
  if (devices < 2) {  // no collectives, so the default is right
    if (ours) unsetenv("PJRT_NPROC");
    return;
  }
  cpu_set_t set;
  const int64_t cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  ours = true;
  setenv("PJRT_NPROC", absl::StrCat(std::max(cores, 4 * devices)).c_str(), 1);
}

void wrap_devices(PJRT_Client* client) {
  for (xla::PjRtMemorySpace* space : client->client->memory_spaces()) {
    auto& memory = client->owned_memories.emplace_back(std::make_unique<PJRT_Memory>());
    memory->client = client;
    memory->space = space;
    client->memories.push_back(memory.get());
    client->memory_of[space] = memory.get();
  }
  for (xla::PjRtDevice* xla_device : client->client->devices()) {
    auto& device = client->owned_devices.emplace_back(std::make_unique<PJRT_Device>());
    device->client = client;
    device->device = xla_device;
    describe(xla_device->description(), &device->description);
    client->devices.push_back(device.get());
    client->device_of[xla_device] = device.get();
    if (xla_device->IsAddressable()) client->addressable_devices.push_back(device.get());
    for (xla::PjRtMemorySpace* space : xla_device->memory_spaces())
      device->memories.push_back(client->memory_of[space]);
    if (auto space = xla_device->default_memory_space(); space.ok())
      device->default_memory = client->memory_of[*space];
  }
  for (auto& memory : client->owned_memories) {
    for (xla::PjRtDevice* device : memory->space->devices())
      memory->devices.push_back(client->device_of[device]);
  }
}

absl::Status client_create(PJRT_Client_Create_Args& args) {
  TF_ASSIGN_OR_RETURN(const ClientOptions options, read_options(args));
  widen_thread_pool(options.cpu_device_count);
  auto client = std::make_unique<PJRT_Client>();
  client->pool = std::make_shared<MemoryPool>(options.memory_limit_bytes);
  xla::CpuClientOptions xla_options;
  xla_options.cpu_device_count = static_cast<int>(options.cpu_device_count);
  xla_options.process_id = static_cast<int>(options.node_id);
  xla_options.allocator = [pool = client->pool](size_t bytes, size_t alignment) {
    return allocate(pool, bytes, alignment);
  };
  TF_ASSIGN_OR_RETURN(client->client, xla::GetXlaPjrtCpuClient(std::move(xla_options)));
  client->platform_name = options.platform_name;
  client->platform_version = "tessera 0.1.0, XLA of tensorflow-cpu 2.21.0";
  client->process_index = static_cast<int>(options.node_id);
  wrap_devices(client.get());
  TF_ASSIGN_OR_RETURN(const xla::PjRtTopologyDescription* topology,
                      client->client->GetTopologyDescription());
  const auto& cpu = *static_cast<const xla::CpuTopologyDescription*>(topology);
  const auto devices = cpu.cpu_topology().devices();
  client->topology =
      make_topology(std::make_unique<xla::CpuTopologyDescription>(
                        cpu.platform_id(), cpu.platform_name(), cpu.platform_version(),
                        std::vector<xla::CpuTopology::CpuDevice>(devices.begin(), devices.end()),
                        cpu.cpu_topology().machine_attributes()),
                    options.platform_name);
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

// There is one process, so there is nothing to learn about others.
absl::Status client_update_global_process_info(PJRT_Client_UpdateGlobalProcessInfo_Args& args) {
  return args.num_process_infos == 0 ? absl::OkStatus()
                                     : require(args.process_infos, "process_infos");
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
  TESSERA_SLOT(api, PJRT_Client_UpdateGlobalProcessInfo, client, client_update_global_process_info);
  TESSERA_SLOT(api, PJRT_Client_DefaultDeviceAssignment, client, client_default_device_assignment);
  TESSERA_SLOT(api, PJRT_Client_DmaMap, client, client_dma_map);
  TESSERA_SLOT(api, PJRT_Client_DmaUnmap, client, client_dma_unmap);
}

}  // namespace tessera::pjrt_cpu
