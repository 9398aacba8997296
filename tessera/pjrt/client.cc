#include "tessera/pjrt/client.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/element_type_internal.h"
#include "tessera/pjrt/key_value_callbacks_internal.h"
#include "tessera/pjrt/named_value_internal.h"

namespace tessera::pjrt {
namespace {

struct Transfer {
  Buffer buffer;
  Event done_with_host;
};

Result<Transfer> transfer(const std::shared_ptr<const ClientHandle>& client, const HostView& view,
                          PJRT_HostBufferSemantics semantics, const Device& device) {
  PJRT_ARGS(PJRT_Client_BufferFromHostBuffer, args);
  args.client = client->client;
  args.data = view.data;
  args.type = to_c(view.shape.dtype);
  args.dims = view.shape.dims.data();
  args.num_dims = view.shape.dims.size();
  args.byte_strides = view.byte_strides.data();
  args.num_byte_strides = view.byte_strides.size();
  args.host_buffer_semantics = semantics;
  args.device = device.handle();
  RETURN_IF_ERROR(annotate(PJRT_CALL(client->api, PJRT_Client_BufferFromHostBuffer, args),
                           str_cat("copy of ", to_string(view.shape), " to device ", device.id())));
  return Transfer{Buffer(client, args.buffer), Event(client->api, args.done_with_host_buffer)};
}

}  // namespace

Client::Client(Plugin plugin, std::shared_ptr<const ClientHandle> handle)
    : plugin_(std::move(plugin)), handle_(std::move(handle)) {}

Result<Client> Client::create(const Plugin& plugin, std::span<const NamedValue> options,
                              const ProcessGroup& group) {
  std::vector<NamedValue> all_options(options.begin(), options.end());
  PJRT_ARGS(PJRT_Client_Create, args);
  if (group.processes > 1) {
    if (group.key_values == nullptr) {
      return invalid_argument("a client of ", group.processes,
                              " processes needs a store of key-values in which they meet");
    }
    all_options.push_back({"node_id", int64_t{group.process}});
    all_options.push_back({"num_nodes", int64_t{group.processes}});
    if (group.slice) all_options.push_back({"slice_index", *group.slice});
    if (group.own_key_values && plugin.is_ours())
      all_options.push_back({"client_number", int64_t{0}});
    set_key_value_callbacks(*group.key_values, &args);
  }
  const auto c_options = to_c(all_options);
  args.create_options = c_options.data();
  args.num_options = c_options.size();
  RETURN_IF_ERROR(annotate(PJRT_CALL(plugin.api(), PJRT_Client_Create, args),
                           str_cat("plugin ", plugin.path(), ": creating a client")));
  Client client(plugin,
                std::make_shared<const ClientHandle>(plugin.api(), args.client, group.key_values));
  RETURN_IF_ERROR(client.list_devices());
  return client;
}

Status Client::update_processes(std::span<const ProcessState> states) const {
  std::vector<PJRT_ProcessInfo> infos;
  for (const ProcessState& state : states) {
    PJRT_ProcessInfo info = {};
    info.struct_size = PJRT_ProcessInfo_STRUCT_SIZE;
    info.task_id = state.process;
    info.incarnation_id = state.incarnation;
    info.state = state.alive ? PJRT_ProcessState_kConnected : PJRT_ProcessState_kDisconnected;
    infos.push_back(info);
  }
  PJRT_ARGS(PJRT_Client_UpdateGlobalProcessInfo, args);
  args.client = handle_->client;
  args.process_infos = infos.data();
  args.num_process_infos = infos.size();
  return PJRT_CALL(handle_->api, PJRT_Client_UpdateGlobalProcessInfo, args);
}

Result<std::shared_ptr<const void>> Client::pin(std::span<std::byte> memory) const {
  PJRT_ARGS(PJRT_Client_DmaMap, args);
  args.client = handle_->client;
  args.data = memory.data();
  args.size = memory.size();
  RETURN_IF_ERROR(PJRT_CALL(handle_->api, PJRT_Client_DmaMap, args));
  return std::shared_ptr<const void>(memory.data(), [handle = handle_](const void* data) {
    PJRT_ARGS(PJRT_Client_DmaUnmap, args);
    args.client = handle->client;
    args.data = const_cast<void*>(data);
    (void)PJRT_CALL(handle->api, PJRT_Client_DmaUnmap, args);
  });
}

Status Client::list_devices() {
  PJRT_ARGS(PJRT_Client_Devices, args);
  args.client = handle_->client;
  RETURN_IF_ERROR(PJRT_CALL(handle_->api, PJRT_Client_Devices, args));
  for (size_t i = 0; i < args.num_devices; ++i) {
    ASSIGN_OR_RETURN(Device device, Device::describe(handle_->api, args.devices[i]));
    devices_.push_back(device);
  }
  std::sort(devices_.begin(), devices_.end(),
            [](const Device& a, const Device& b) { return a.id() < b.id(); });
  return absl::OkStatus();
}

std::string Client::platform_name() const {
  PJRT_ARGS(PJRT_Client_PlatformName, args);
  args.client = handle_->client;
  if (!PJRT_CALL(handle_->api, PJRT_Client_PlatformName, args).ok()) return "";
  return std::string(args.platform_name, args.platform_name_size);
}

std::string Client::platform_version() const {
  PJRT_ARGS(PJRT_Client_PlatformVersion, args);
  args.client = handle_->client;
  if (!PJRT_CALL(handle_->api, PJRT_Client_PlatformVersion, args).ok()) return "";
  return std::string(args.platform_version, args.platform_version_size);
}

int Client::process_index() const {
  PJRT_ARGS(PJRT_Client_ProcessIndex, args);
  args.client = handle_->client;
  return PJRT_CALL(handle_->api, PJRT_Client_ProcessIndex, args).ok() ? args.process_index : 0;
}

std::vector<Device> Client::addressable_devices() const {
  std::vector<Device> result;
  for (const Device& device : devices_) {
    if (device.is_addressable()) result.push_back(device);
  }
  return result;
}

Result<Device> Client::device(int id) const {
  std::vector<int> ids;
  for (const Device& device : devices_) {
    if (device.id() == id) return device;
    ids.push_back(device.id());
  }
  return not_found("no device has id ", id, "; the ids are ", absl::StrJoin(ids, ", "));
}

Result<Buffer> Client::to_device(const HostArray& array, const Device& device) const {
  return to_device(HostView{array.shape(), array.bytes().data(), {}}, device);
}

Result<Buffer> Client::to_device(const HostView& view, const Device& device) const {
  ASSIGN_OR_RETURN(
      Transfer copy,
      transfer(handle_, view, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall, device));
  return std::move(copy.buffer);
}

Result<Buffer> Client::to_device(std::shared_ptr<const HostArray> array,
                                 const Device& device) const {
  const HostView view{array->shape(), array->bytes().data(), {}};
  ASSIGN_OR_RETURN(Transfer copy,
                   transfer(handle_, view, PJRT_HostBufferSemantics_kImmutableZeroCopy, device));
  RETURN_IF_ERROR(copy.done_with_host.on_ready([array = std::move(array)](const Status&) {}));
  return std::move(copy.buffer);
}

Result<Buffer> Client::uninitialized(const Shape& shape, const Device& device) const {
  PJRT_ARGS(PJRT_Client_CreateUninitializedBuffer, args);
  args.client = handle_->client;
  args.shape_dims = shape.dims.data();
  args.shape_num_dims = shape.dims.size();
  args.shape_element_type = to_c(shape.dtype);
  args.device = device.handle();
  RETURN_IF_ERROR(annotate(PJRT_CALL(handle_->api, PJRT_Client_CreateUninitializedBuffer, args),
                           str_cat("memory for ", to_string(shape), " on device ", device.id())));
  return Buffer(handle_, args.buffer);
}

Result<Executable> Client::compile(std::string_view module, const CompileOptions& options) const {
  constexpr std::string_view kFormat = "mlir";
  PJRT_Program program = {};
  program.struct_size = PJRT_Program_STRUCT_SIZE;
  // Not written to: the field serves as an output elsewhere.
  program.code = const_cast<char*>(module.data());
  program.code_size = module.size();
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  const std::string encoded = encode(options);
  PJRT_ARGS(PJRT_Client_Compile, args);
  args.client = handle_->client;
  args.program = &program;
  args.compile_options = encoded.data();
  args.compile_options_size = encoded.size();
  RETURN_IF_ERROR(PJRT_CALL(handle_->api, PJRT_Client_Compile, args));
  return Executable::adopt(handle_, args.executable);
}

Result<Executable> Client::deserialize(std::string_view serialized,
                                       const CompileOptions& options) const {
  const std::string encoded = encode(options);
  PJRT_ARGS(PJRT_Executable_DeserializeAndLoad, args);
  args.client = handle_->client;
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  args.overridden_serialized_compile_options = encoded.data();
  args.overridden_serialized_compile_options_size = encoded.size();
  RETURN_IF_ERROR(PJRT_CALL(handle_->api, PJRT_Executable_DeserializeAndLoad, args));
  return Executable::adopt(handle_, args.loaded_executable);
}

}  // namespace tessera::pjrt
