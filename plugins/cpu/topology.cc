// Topologies: what devices there are, without a client.
#include "plugins/cpu/internal.h"

struct PJRT_SerializedTopology {
  std::string bytes;
};

namespace tessera::pjrt_cpu {

std::unique_ptr<PJRT_TopologyDescription> make_topology(
    std::unique_ptr<xla::CpuTopologyDescription> topology, std::string platform_name) {
  auto handle = std::make_unique<PJRT_TopologyDescription>();
  for (const auto& description : topology->DeviceDescriptions()) {
    auto& owned = handle->owned.emplace_back(std::make_unique<PJRT_DeviceDescription>());
    describe(*description, owned.get());
    handle->descriptions.push_back(owned.get());
  }
  for (const auto& [name, value] : topology->Attributes()) handle->attributes.add(name, value);
  handle->topology = std::move(topology);
  handle->platform_name = std::move(platform_name);
  return handle;
}

namespace {

std::unique_ptr<PJRT_TopologyDescription> from_devices(
    std::vector<xla::CpuTopology::CpuDevice> devices,
    const std::vector<std::string>& machine_attributes) {
  return make_topology(
      std::make_unique<xla::CpuTopologyDescription>(xla::CpuId(), xla::CpuName(), "cpu",
                                                    std::move(devices), machine_attributes),
      "cpu");
}

absl::Status topology_create(PJRT_TopologyDescription_Create_Args& args) {
  int64_t device_count = 1;
  if (args.num_options > 0) TF_RETURN_IF_ERROR(require(args.create_options, "create_options"));
  for (size_t i = 0; i < args.num_options; ++i) {
    const PJRT_NamedValue& option = args.create_options[i];
    TF_RETURN_IF_ERROR(
        check_struct_size("PJRT_NamedValue", PJRT_NamedValue_STRUCT_SIZE, option.struct_size));
    const std::string_view name = view(option.name, option.name_size);
    if (name != "cpu_device_count") {
      return invalid(absl::StrCat("unknown topology option '", name, "'; known: cpu_device_count"));
    }
    if (option.type != PJRT_NamedValue_kInt64 || option.int64_value < 1 ||
        option.int64_value >= xla::kMaxCpuDevicesPerProcess) {
      return invalid("topology option 'cpu_device_count' must be an integer of at least 1");
    }
    device_count = option.int64_value;
  }
  std::vector<xla::CpuTopology::CpuDevice> devices;
  for (int i = 0; i < device_count; ++i) devices.push_back({.process_id = 0, .local_device_id = i});
  args.topology =
      from_devices(std::move(devices), xla::cpu::DetectMachineAttributes(std::nullopt).features)
          .release();
  return absl::OkStatus();
}

// Only those that were created or deserialized; the client's own is not for the caller to destroy.
absl::Status topology_destroy(PJRT_TopologyDescription_Destroy_Args& args) {
  delete args.topology;
  return absl::OkStatus();
}

absl::Status topology_platform_name(PJRT_TopologyDescription_PlatformName_Args& args) {
  return give(args.topology->platform_name, args.platform_name, args.platform_name_size);
}

absl::Status topology_platform_version(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  return give(args.topology->topology->platform_version(), args.platform_version,
              args.platform_version_size);
}

absl::Status topology_device_descriptions(
    PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  return give(args.topology->descriptions, args.descriptions, args.num_descriptions);
}

absl::Status topology_serialize(PJRT_TopologyDescription_Serialize_Args& args) {
  auto serialized = std::make_unique<PJRT_SerializedTopology>();
  if (!tsl::SerializeToStringDeterministic(args.topology->topology->cpu_topology().ToProto(),
                                           &serialized->bytes)) {
    return absl::InternalError("the topology does not serialize");
  }
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_topology = serialized.release();
  args.serialized_topology_deleter = [](PJRT_SerializedTopology* topology) { delete topology; };
  return absl::OkStatus();
}

absl::Status topology_deserialize(PJRT_TopologyDescription_Deserialize_Args& args) {
  xla::CpuTopologyProto proto;
  if (args.serialized_topology_size > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(args.serialized_topology,
                            static_cast<int>(args.serialized_topology_size)) ||
      proto.cpu_devices().empty()) {
    return invalid("serialized_topology is not a topology of this plugin");
  }
  const auto topology = xla::CpuTopology::FromProto(proto);
  const auto devices = topology->devices();
  const auto attributes = topology->machine_attributes();
  args.topology =
      from_devices({devices.begin(), devices.end()}, {attributes.begin(), attributes.end()})
          .release();
  return absl::OkStatus();
}

absl::Status topology_attributes(PJRT_TopologyDescription_Attributes_Args& args) {
  return give(args.topology->attributes, args.attributes, args.num_attributes);
}

}  // namespace

void fill_topology_slots(PJRT_Api& api) {
  TESSERA_SLOT_PLAIN(api, PJRT_TopologyDescription_Create, topology_create);
  TESSERA_SLOT(api, PJRT_TopologyDescription_Destroy, topology, topology_destroy);
  TESSERA_SLOT(api, PJRT_TopologyDescription_PlatformName, topology, topology_platform_name);
  TESSERA_SLOT(api, PJRT_TopologyDescription_PlatformVersion, topology, topology_platform_version);
  TESSERA_SLOT(api, PJRT_TopologyDescription_GetDeviceDescriptions, topology,
               topology_device_descriptions);
  TESSERA_SLOT(api, PJRT_TopologyDescription_Serialize, topology, topology_serialize);
  TESSERA_SLOT(api, PJRT_TopologyDescription_Deserialize, serialized_topology,
               topology_deserialize);
  TESSERA_SLOT(api, PJRT_TopologyDescription_Attributes, topology, topology_attributes);
}

}  // namespace tessera::pjrt_cpu
