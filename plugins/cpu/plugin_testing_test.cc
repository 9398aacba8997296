// Not tests: the helpers of plugin_testing.h. Named so that the plugin's own sources leave it out.
#include "plugins/cpu/plugin_testing.h"

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace tessera::pjrt_cpu {
namespace {

using Proto = std::string;

void add_varint(Proto& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}
void add_field(Proto& to, int field, uint64_t value) {
  add_varint(to, static_cast<uint64_t>(field) << 3);
  add_varint(to, value);
}
void add_field(Proto& to, int field, const Proto& bytes) {
  add_varint(to, static_cast<uint64_t>(field) << 3 | 2);
  add_varint(to, bytes.size());
  to += bytes;
}

}  // namespace

const PJRT_Api& api() {
  static const PJRT_Api* table = [] {
    void* library = dlopen(TESSERA_PJRT_CPU, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto* loaded = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
    auto args = ARGS(PJRT_Plugin_Initialize);
    if (loaded->PJRT_Plugin_Initialize(&args) != nullptr)
      throw std::runtime_error("PJRT_Plugin_Initialize failed");
    return loaded;
  }();
  return *table;
}

Outcome outcome(PJRT_Error* error) {
  if (error == nullptr) return {};
  auto message = ARGS(PJRT_Error_Message);
  message.error = error;
  api().PJRT_Error_Message(&message);
  auto code = ARGS(PJRT_Error_GetCode);
  code.error = error;
  EXPECT_EQ(api().PJRT_Error_GetCode(&code), nullptr);
  const Outcome result{code.code, std::string(message.message, message.message_size)};
  auto destroy = ARGS(PJRT_Error_Destroy);
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  return result;
}

Outcome create_client(const std::vector<Option>& options, PJRT_Client** client) {
  std::vector<PJRT_NamedValue> values;
  for (const Option& option : options) {
    PJRT_NamedValue& value = values.emplace_back();
    value = {};
    value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    value.name = option.name.data();
    value.name_size = option.name.size();
    value.type = option.text.empty() ? PJRT_NamedValue_kInt64 : PJRT_NamedValue_kString;
    value.value_size = 1;
    value.int64_value = option.value;
    if (option.text.empty()) continue;
    value.string_value = option.text.data();
    value.value_size = option.text.size();
  }
  auto args = ARGS(PJRT_Client_Create);
  args.create_options = values.data();
  args.num_options = values.size();
  const Outcome result = outcome(api().PJRT_Client_Create(&args));
  *client = args.client;
  return result;
}

bool holds_soon(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::string compile_options(int replicas, int partitions, bool shardy) {
  Proto build, options;
  add_field(build, 1, static_cast<uint64_t>(int64_t{-1}));  // device_ordinal
  add_field(build, 4, static_cast<uint64_t>(replicas));
  add_field(build, 5, static_cast<uint64_t>(partitions));
  add_field(build, 6, partitions > 1 ? 1 : 0);  // use_spmd_partitioning
  add_field(build, 19, shardy ? 1 : 0);         // use_shardy_partitioner
  add_field(options, 3, build);                 // executable_build_options
  return options;
}

void ClientTest::start(int devices, int64_t memory_limit) {
  std::vector<Option> options = {{"cpu_device_count", devices, ""}};
  if (memory_limit > 0) options.push_back({"memory_limit_bytes", memory_limit, ""});
  const Outcome created = create_client(options, &client_);
  ASSERT_TRUE(created.ok()) << created.message;
  auto args = ARGS(PJRT_Client_AddressableDevices);
  args.client = client_;
  CALL(PJRT_Client_AddressableDevices, args);
  devices_.assign(args.addressable_devices,
                  args.addressable_devices + args.num_addressable_devices);
  ASSERT_EQ(devices_.size(), static_cast<size_t>(devices));
}

void ClientTest::TearDown() {
  if (client_ == nullptr) return;
  auto args = ARGS(PJRT_Client_Destroy);
  args.client = client_;
  CALL(PJRT_Client_Destroy, args);
}

PJRT_Buffer* ClientTest::put(PJRT_Buffer_Type type, const std::vector<int64_t>& dims,
                             const void* data, int device) {
  auto args = ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client_;
  args.data = data;
  args.type = type;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.device = this->device(device);
  const Outcome result = outcome(api().PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_TRUE(result.ok()) << result.message;
  if (!result.ok()) return nullptr;
  EXPECT_TRUE(await(args.done_with_host_buffer).ok());
  return args.buffer;
}

PJRT_Buffer* ClientTest::put_f32(const std::vector<float>& values, int device) {
  return put(PJRT_Buffer_Type_F32, {static_cast<int64_t>(values.size())}, values.data(), device);
}

std::vector<char> ClientTest::get(PJRT_Buffer* buffer) {
  auto args = ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = buffer;
  Outcome result = outcome(api().PJRT_Buffer_ToHostBuffer(&args));
  EXPECT_TRUE(result.ok()) << result.message;
  std::vector<char> bytes(args.dst_size), none(1);
  args.dst = bytes.empty() ? none.data() : bytes.data();  // a null would only ask for the size
  result = outcome(api().PJRT_Buffer_ToHostBuffer(&args));
  EXPECT_TRUE(result.ok()) << result.message;
  if (result.ok()) result = await(args.event);
  EXPECT_TRUE(result.ok()) << result.message;
  return bytes;
}

std::vector<float> ClientTest::get_f32(PJRT_Buffer* buffer) {
  const std::vector<char> bytes = get(buffer);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

Outcome ClientTest::await(PJRT_Event* event) {
  auto args = ARGS(PJRT_Event_Await);
  args.event = event;
  const Outcome result = outcome(api().PJRT_Event_Await(&args));
  auto destroy = ARGS(PJRT_Event_Destroy);
  destroy.event = event;
  EXPECT_TRUE(outcome(api().PJRT_Event_Destroy(&destroy)).ok());
  return result;
}

bool ClientTest::is_deleted(PJRT_Buffer* buffer) {
  auto args = ARGS(PJRT_Buffer_IsDeleted);
  args.buffer = buffer;
  EXPECT_TRUE(outcome(api().PJRT_Buffer_IsDeleted(&args)).ok());
  return args.is_deleted;
}

void ClientTest::destroy(PJRT_Buffer* buffer) {
  auto args = ARGS(PJRT_Buffer_Destroy);
  args.buffer = buffer;
  EXPECT_TRUE(outcome(api().PJRT_Buffer_Destroy(&args)).ok());
}

Outcome ClientTest::compile(std::string program, const std::string& options,
                            PJRT_LoadedExecutable** executable, std::string_view format) {
  PJRT_Program code{};
  code.struct_size = PJRT_Program_STRUCT_SIZE;
  code.code = program.data();
  code.code_size = program.size();
  code.format = format.data();
  code.format_size = format.size();
  auto args = ARGS(PJRT_Client_Compile);
  args.client = client_;
  args.program = &code;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  const Outcome result = outcome(api().PJRT_Client_Compile(&args));
  *executable = args.executable;
  return result;
}

PJRT_LoadedExecutable* ClientTest::compile(const std::string& program, const std::string& options) {
  PJRT_LoadedExecutable* executable = nullptr;
  const Outcome result = compile(program, options, &executable);
  EXPECT_TRUE(result.ok()) << result.message;
  return executable;
}

Outcome ClientTest::execute(PJRT_LoadedExecutable* executable,
                            const std::vector<std::vector<PJRT_Buffer*>>& arguments, size_t outputs,
                            std::vector<std::vector<PJRT_Buffer*>>* results,
                            std::vector<int64_t> non_donatable) {
  PJRT_ExecuteOptions options{};
  options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
  options.non_donatable_input_indices = non_donatable.data();
  options.num_non_donatable_input_indices = non_donatable.size();
  results->assign(arguments.size(), std::vector<PJRT_Buffer*>(outputs));
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (const auto& list : arguments) argument_lists.push_back(list.data());
  for (auto& list : *results) output_lists.push_back(list.data());
  std::vector<PJRT_Event*> events(arguments.size());
  auto args = ARGS(PJRT_LoadedExecutable_Execute);
  args.executable = executable;
  args.options = &options;
  args.argument_lists = argument_lists.data();
  args.num_devices = arguments.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_lists.data();
  args.device_complete_events = events.data();
  Outcome result = outcome(api().PJRT_LoadedExecutable_Execute(&args));
  for (PJRT_Event* event : events) {
    if (!result.ok()) break;
    result = await(event);
  }
  return result;
}

void ClientTest::destroy(PJRT_LoadedExecutable* executable) {
  auto args = ARGS(PJRT_LoadedExecutable_Destroy);
  args.executable = executable;
  EXPECT_TRUE(outcome(api().PJRT_LoadedExecutable_Destroy(&args)).ok());
}

PJRT_Executable* ClientTest::executable_of(PJRT_LoadedExecutable* loaded) {
  auto args = ARGS(PJRT_LoadedExecutable_GetExecutable);
  args.loaded_executable = loaded;
  EXPECT_TRUE(outcome(api().PJRT_LoadedExecutable_GetExecutable(&args)).ok());
  return args.executable;
}

void ClientTest::destroy_executable(PJRT_Executable* executable) {
  auto args = ARGS(PJRT_Executable_Destroy);
  args.executable = executable;
  EXPECT_TRUE(outcome(api().PJRT_Executable_Destroy(&args)).ok());
}

}  // namespace tessera::pjrt_cpu
