// The table as a whole, the client, devices and memories.
#include <cstddef>
#include <cstdlib>
#include <set>

#include "plugins/cpu/plugin_testing.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

namespace tessera::pjrt_cpu {
namespace {

using Function = PJRT_Error* (*)(void*);

// Every function of the table and of the extensions that returns an error, in the table's order.
std::vector<Function> all_functions() {
  std::vector<Function> functions;
  const auto take = [&](const void* table, size_t begin, size_t end) {
    for (size_t at = begin; at < end; at += sizeof(Function)) {
      functions.push_back(*reinterpret_cast<const Function*>(static_cast<const char*>(table) + at));
    }
  };
  take(&api(), offsetof(PJRT_Api, PJRT_Error_GetCode), api().struct_size);
  for (const PJRT_Extension_Base* next = api().extension_start; next != nullptr;
       next = next->next) {
    take(next, sizeof(PJRT_Extension_Base), next->struct_size);
  }
  return functions;
}

// Those that need no handle, so that arguments of zeros are a good call or a matter of their own
// tests.
bool needs_no_handle(Function function) {
  const void* const f = reinterpret_cast<const void*>(function);
  for (const void* known : {reinterpret_cast<const void*>(api().PJRT_Plugin_Initialize),
                            reinterpret_cast<const void*>(api().PJRT_Plugin_Attributes),
                            reinterpret_cast<const void*>(api().PJRT_Event_Create),
                            reinterpret_cast<const void*>(api().PJRT_Client_Create),
                            reinterpret_cast<const void*>(api().PJRT_ExecuteContext_Create),
                            reinterpret_cast<const void*>(api().PJRT_TopologyDescription_Create)}) {
    if (f == known) return true;
  }
  return false;
}

TEST(PluginTableTest, IsCompleteAndOfTheHeadersVersion) {
  EXPECT_EQ(api().struct_size, static_cast<size_t>(PJRT_Api_STRUCT_SIZE));
  EXPECT_EQ(api().pjrt_api_version.major_version, PJRT_API_MAJOR);
  EXPECT_EQ(api().pjrt_api_version.minor_version, PJRT_API_MINOR);
  const std::vector<Function> functions = all_functions();
  EXPECT_EQ(functions.size(), 126u + 6u + 3u);
  for (size_t i = 0; i < functions.size(); ++i) EXPECT_NE(functions[i], nullptr) << "slot " << i;
}

// Clients of a later API (JAX 0.10, pypjrt 0.1) look beyond an extension's end without asking for
// its size.
TEST(PluginTableTest, NullsFollowEachExtension) {
  for (const PJRT_Extension_Base* next = api().extension_start; next != nullptr;
       next = next->next) {
    const auto* after = reinterpret_cast<const void* const*>(reinterpret_cast<const char*>(next) +
                                                             next->struct_size);
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(after[i], nullptr) << "extension " << next->type << ", " << i << " beyond";
  }
}

TEST(PluginTableTest, EveryFunctionRefusesANullArgumentStruct) {
  for (Function function : all_functions()) {
    const Outcome result = outcome(function(nullptr));
    EXPECT_EQ(result.code, PJRT_Error_Code_INVALID_ARGUMENT) << result.message;
    EXPECT_NE(result.message.find("is null"), std::string::npos) << result.message;
  }
}

TEST(PluginTableTest, EveryFunctionRefusesAStructThatIsTooSmall) {
  alignas(16) char args[4096] = {};
  for (size_t size : {size_t{0}, size_t{8}, size_t{15}}) {
    *reinterpret_cast<size_t*>(args) = size;
    for (Function function : all_functions()) {
      const Outcome result = outcome(function(args));
      EXPECT_EQ(result.code, PJRT_Error_Code_INVALID_ARGUMENT) << result.message;
      EXPECT_NE(result.message.find("struct_size"), std::string::npos) << result.message;
    }
  }
}

TEST(PluginTableTest, EveryFunctionRefusesAMissingHandle) {
  for (Function function : all_functions()) {
    if (needs_no_handle(function)) continue;
    alignas(16) char args[4096] = {};
    *reinterpret_cast<size_t*>(args) = sizeof(args);
    const Outcome result = outcome(function(args));
    EXPECT_EQ(result.code, PJRT_Error_Code_INVALID_ARGUMENT) << result.message;
    EXPECT_NE(result.message.find("null"), std::string::npos) << result.message;
  }
}

TEST(PluginTableTest, DestroyingNothingIsHarmless) {
  auto destroy = ARGS(PJRT_Error_Destroy);
  api().PJRT_Error_Destroy(&destroy);
  api().PJRT_Error_Destroy(nullptr);
  auto message = ARGS(PJRT_Error_Message);
  api().PJRT_Error_Message(&message);
  EXPECT_EQ(message.message_size, 0u);
}

TEST(PluginTableTest, TellsItsStablehloVersions) {
  auto args = ARGS(PJRT_Plugin_Attributes);
  CALL(PJRT_Plugin_Attributes, args);
  std::vector<std::string> names;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    names.emplace_back(args.attributes[i].name, args.attributes[i].name_size);
    if (names.back() != "xla_version") {
      EXPECT_EQ(args.attributes[i].value_size, 3u);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"xla_version", "stablehlo_current_version",
                                             "stablehlo_minimum_version"}));
}

struct BadOption {
  Option option;
  PJRT_Error_Code code;
  std::string message;
};

class BadOptionTest : public ::testing::TestWithParam<BadOption> {};

TEST_P(BadOptionTest, IsNamedInTheError) {
  PJRT_Client* client = nullptr;
  const Outcome result = create_client({GetParam().option}, &client);
  EXPECT_EQ(result.code, GetParam().code) << result.message;
  EXPECT_NE(result.message.find(GetParam().message), std::string::npos) << result.message;
  EXPECT_EQ(client, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptionTest,
    ::testing::Values(
        BadOption{{"cpu_device_cuont", 2, ""},
                  PJRT_Error_Code_INVALID_ARGUMENT,
                  "did you mean 'cpu_device_count'"},
        BadOption{{"cpu_device_count", 0, ""},
                  PJRT_Error_Code_INVALID_ARGUMENT,
                  "'cpu_device_count' is 0"},
        BadOption{
            {"cpu_device_count", 0, "two"}, PJRT_Error_Code_INVALID_ARGUMENT, "must be an integer"},
        BadOption{{"node_id", 1, ""}, PJRT_Error_Code_INVALID_ARGUMENT, "only 1 nodes"},
        BadOption{{"num_nodes", 2, ""},
                  PJRT_Error_Code_INVALID_ARGUMENT,
                  "several processes need kv_get_callback"},
        BadOption{{"collective_timeout_ms", 0, ""},
                  PJRT_Error_Code_INVALID_ARGUMENT,
                  "'collective_timeout_ms' is 0"},
        BadOption{{"slice_index", -1, ""}, PJRT_Error_Code_INVALID_ARGUMENT, "'slice_index' is -1"},
        BadOption{{"memory_limit_bytes", -1, ""},
                  PJRT_Error_Code_INVALID_ARGUMENT,
                  "'memory_limit_bytes' is -1"},
        BadOption{{"platform_name", 3, ""}, PJRT_Error_Code_INVALID_ARGUMENT, "must be a string"}));

TEST(PluginClientTest, NullOptionsAreAnError) {
  auto args = ARGS(PJRT_Client_Create);
  args.num_options = 1;
  CALL_FAILS(PJRT_Client_Create, args, PJRT_Error_Code_INVALID_ARGUMENT, "create_options is null");
}

void destroy(PJRT_Client* client) {
  auto args = ARGS(PJRT_Client_Destroy);
  args.client = client;
  CALL(PJRT_Client_Destroy, args);
}

TEST(PluginClientTest, ThePlatformsNameCanBeChosen) {
  PJRT_Client* client = nullptr;
  ASSERT_TRUE(create_client({{"platform_name", 0, "mosaic"}}, &client).ok());
  auto args = ARGS(PJRT_Client_PlatformName);
  args.client = client;
  CALL(PJRT_Client_PlatformName, args);
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), "mosaic");
  destroy(client);
}

TEST(PluginClientTest, SeveralDevicesWidenXlasThreadPool) {
  PJRT_Client* client = nullptr;
  ASSERT_TRUE(create_client({{"cpu_device_count", 8, ""}}, &client).ok());
  ASSERT_NE(std::getenv("PJRT_NPROC"), nullptr);
  EXPECT_GE(std::atoi(std::getenv("PJRT_NPROC")), 32);
  destroy(client);
}

class PluginDeviceTest : public ClientTest {};

TEST_F(PluginDeviceTest, DevicesAreNumberedFromZeroAndFoundAgain) {
  start(3);
  for (int i = 0; i < 3; ++i) {
    auto lookup = ARGS(PJRT_Client_LookupDevice);
    lookup.client = client_;
    lookup.id = i;
    CALL(PJRT_Client_LookupDevice, lookup);
    EXPECT_EQ(lookup.device, device(i));
    auto local = ARGS(PJRT_Client_LookupAddressableDevice);
    local.client = client_;
    local.local_hardware_id = i;
    CALL(PJRT_Client_LookupAddressableDevice, local);
    EXPECT_EQ(local.addressable_device, device(i));
    auto description = ARGS(PJRT_Device_GetDescription);
    description.device = device(i);
    CALL(PJRT_Device_GetDescription, description);
    auto id = ARGS(PJRT_DeviceDescription_Id);
    id.device_description = description.device_description;
    CALL(PJRT_DeviceDescription_Id, id);
    EXPECT_EQ(id.id, i);
    auto kind = ARGS(PJRT_DeviceDescription_Kind);
    kind.device_description = description.device_description;
    CALL(PJRT_DeviceDescription_Kind, kind);
    EXPECT_EQ(std::string(kind.device_kind, kind.device_kind_size), "cpu");
  }
  auto missing = ARGS(PJRT_Client_LookupDevice);
  missing.client = client_;
  missing.id = 3;
  CALL_FAILS(PJRT_Client_LookupDevice, missing, PJRT_Error_Code_INVALID_ARGUMENT,
             "no device has id 3");
}

TEST_F(PluginDeviceTest, EachDeviceHasADefaultMemoryOfKindDevice) {
  start(2);
  auto all = ARGS(PJRT_Client_AddressableMemories);
  all.client = client_;
  CALL(PJRT_Client_AddressableMemories, all);
  EXPECT_EQ(all.num_addressable_memories, 6u);
  for (int i = 0; i < 2; ++i) {
    auto memory = ARGS(PJRT_Device_DefaultMemory);
    memory.device = device(i);
    CALL(PJRT_Device_DefaultMemory, memory);
    auto kind = ARGS(PJRT_Memory_Kind);
    kind.memory = memory.memory;
    CALL(PJRT_Memory_Kind, kind);
    EXPECT_EQ(std::string(kind.kind, kind.kind_size), "device");
    auto by = ARGS(PJRT_Memory_AddressableByDevices);
    by.memory = memory.memory;
    CALL(PJRT_Memory_AddressableByDevices, by);
    ASSERT_EQ(by.num_devices, 1u);
    EXPECT_EQ(by.devices[0], device(i));
  }
}

TEST_F(PluginDeviceTest, DefaultAssignmentIsDenseAndNeedsEnoughDevices) {
  start(4);
  std::vector<int> ids(4, -1);
  auto args = ARGS(PJRT_Client_DefaultDeviceAssignment);
  args.client = client_;
  args.num_replicas = 2;
  args.num_partitions = 2;
  args.default_assignment = ids.data();
  args.default_assignment_size = 3;
  CALL_FAILS(PJRT_Client_DefaultDeviceAssignment, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "4 are needed");
  args.default_assignment_size = 4;
  CALL(PJRT_Client_DefaultDeviceAssignment, args);
  EXPECT_EQ(std::set<int>(ids.begin(), ids.end()), (std::set<int>{0, 1, 2, 3}));
  args.num_partitions = 4;
  args.default_assignment_size = 8;
  CALL_FAILS(PJRT_Client_DefaultDeviceAssignment, args, PJRT_Error_Code_INVALID_ARGUMENT,
             "the client has 4");
}

TEST_F(PluginDeviceTest, TheTopologySurvivesSerialization) {
  start(3);
  auto mine = ARGS(PJRT_Client_TopologyDescription);
  mine.client = client_;
  CALL(PJRT_Client_TopologyDescription, mine);
  auto serialize = ARGS(PJRT_TopologyDescription_Serialize);
  serialize.topology = mine.topology;
  CALL(PJRT_TopologyDescription_Serialize, serialize);
  auto again = ARGS(PJRT_TopologyDescription_Deserialize);
  again.serialized_topology = serialize.serialized_bytes;
  again.serialized_topology_size = serialize.serialized_bytes_size;
  CALL(PJRT_TopologyDescription_Deserialize, again);
  serialize.serialized_topology_deleter(serialize.serialized_topology);
  auto devices = ARGS(PJRT_TopologyDescription_GetDeviceDescriptions);
  devices.topology = again.topology;
  CALL(PJRT_TopologyDescription_GetDeviceDescriptions, devices);
  EXPECT_EQ(devices.num_descriptions, 3u);
  auto destroy = ARGS(PJRT_TopologyDescription_Destroy);
  destroy.topology = again.topology;
  CALL(PJRT_TopologyDescription_Destroy, destroy);
  auto bad = ARGS(PJRT_TopologyDescription_Deserialize);
  bad.serialized_topology = "not a topology";
  bad.serialized_topology_size = 14;
  CALL_FAILS(PJRT_TopologyDescription_Deserialize, bad, PJRT_Error_Code_INVALID_ARGUMENT,
             "not a topology of this plugin");
}

}  // namespace
}  // namespace tessera::pjrt_cpu
