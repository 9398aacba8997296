// The two extensions: memory layouts, and foreign function (FFI) registration.
#include "plugins/cpu/internal.h"

struct PJRT_Layouts_SerializedLayout {
  std::string bytes;
};

namespace tessera::pjrt_cpu {
namespace {

PJRT_Layouts_MemoryLayout* make_layout(xla::Layout layout) {
  return new PJRT_Layouts_MemoryLayout{std::make_shared<xla::PjRtLayout>(std::move(layout))};
}

absl::Status layout_destroy(PJRT_Layouts_MemoryLayout_Destroy_Args& args) {
  delete args.layout;
  return absl::OkStatus();
}

absl::Status layout_serialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  auto serialized = std::make_unique<PJRT_Layouts_SerializedLayout>();
  serialized->bytes = args.layout->layout->Serialize();
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_layout = serialized.release();
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* layout) { delete layout; };
  return absl::OkStatus();
}

absl::Status layout_client_default(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, make_shape(args.type, args.dims, args.num_dims));
  TF_ASSIGN_OR_RETURN(xla::Layout layout, args.client->client->GetDefaultLayout(
                                              shape.element_type(), shape.dimensions()));
  args.layout = make_layout(std::move(layout));
  return absl::OkStatus();
}

absl::Status layout_topology_default(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, make_shape(args.type, args.dims, args.num_dims));
  TF_ASSIGN_OR_RETURN(xla::Layout layout, args.topology_description->topology->GetDefaultLayout(
                                              shape.element_type(), shape.dimensions()));
  args.layout = make_layout(std::move(layout));
  return absl::OkStatus();
}

absl::Status layout_of_buffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  args.layout = new PJRT_Layouts_MemoryLayout{args.buffer->buffer->layout()};
  return absl::OkStatus();
}

absl::Status layout_of_outputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  PJRT_Executable& executable = *args.executable;
  std::lock_guard lock(executable.mutex);
  if (!executable.output_layouts.has_value()) {
    TF_ASSIGN_OR_RETURN(const auto layouts, executable.get().GetOutputLayouts());
    executable.output_layouts.emplace();
    for (const auto& layout : layouts) {
      executable.owned_layouts.push_back(
          std::make_unique<PJRT_Layouts_MemoryLayout>(PJRT_Layouts_MemoryLayout{layout}));
      executable.output_layouts->push_back(executable.owned_layouts.back().get());
    }
  }
  args.num_outputs = executable.output_layouts->size();
  args.layouts = executable.output_layouts->data();
  return absl::OkStatus();
}

// ---- FFI
// ------------------------------------------------------------------------------------------------------------

absl::Status ffi_type_register(PJRT_FFI_Type_Register_Args& args) {
  using Registry = xla::ffi::TypeRegistry;
  const std::string_view name = view(args.type_name, args.type_name_size);
  if (name.empty()) return invalid("type_name is empty");
  Registry::TypeInfo info;
  if (args.type_info != nullptr) info.deleter = args.type_info->deleter;
  if (args.type_id == Registry::kUnknownTypeId.value()) {
    TF_ASSIGN_OR_RETURN(const Registry::TypeId id, Registry::AssignExternalTypeId(name, info));
    args.type_id = id.value();
    return absl::OkStatus();
  }
  return Registry::RegisterExternalTypeId(name, Registry::TypeId(args.type_id), info);
}

absl::Status ffi_user_data_add(PJRT_FFI_UserData_Add_Args& args) {
  return args.context->context.ffi_context().Insert(
      xla::ffi::TypeRegistry::TypeId(args.user_data.type_id), args.user_data.data);
}

absl::Status ffi_register_handler(PJRT_FFI_Register_Handler_Args& args) {
  const std::string_view name = view(args.target_name, args.target_name_size);
  if (name.empty()) return invalid("target_name is empty");
  std::string_view platform = view(args.platform_name, args.platform_name_size);
  if (platform == "cpu" || platform == "CPU") platform = "Host";  // XLA's name for it
  if (platform != "Host")
    return invalid(
        absl::StrCat("platform_name is '", platform, "', this plugin has only 'Host' ('cpu')"));
  const XLA_FFI_Api* ffi = xla::ffi::GetXlaFfiApi();
  XLA_FFI_Handler_Register_Args registration{};
  registration.struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE;
  registration.name = {name.data(), name.size()};
  registration.platform = {platform.data(), platform.size()};
  registration.bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(args.handler);
  registration.traits = static_cast<XLA_FFI_Handler_Traits>(args.traits);
  XLA_FFI_Error* error = ffi->XLA_FFI_Handler_Register(&registration);
  return error == nullptr ? absl::OkStatus() : xla::ffi::TakeStatus(error);
}

#define TESSERA_FFI_SLOT(field, function, handle, body)                                       \
  do {                                                                                        \
    static constexpr char kName[] = #function;                                                \
    ffi.field = entry<function##_Args, function##_Args_STRUCT_SIZE, &function##_Args::handle, \
                      body, kName>;                                                           \
  } while (false)

PJRT_Layouts_Extension make_layouts_extension() {
  PJRT_Layouts_Extension layouts{};
  layouts.base = {PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, nullptr};
  TESSERA_SLOT(layouts, PJRT_Layouts_MemoryLayout_Destroy, layout, layout_destroy);
  TESSERA_SLOT(layouts, PJRT_Layouts_MemoryLayout_Serialize, layout, layout_serialize);
  TESSERA_SLOT(layouts, PJRT_Layouts_PJRT_Client_GetDefaultLayout, client, layout_client_default);
  TESSERA_SLOT(layouts, PJRT_Layouts_PJRT_Buffer_MemoryLayout, buffer, layout_of_buffer);
  TESSERA_SLOT(layouts, PJRT_Layouts_PJRT_Topology_GetDefaultLayout, topology_description,
               layout_topology_default);
  TESSERA_SLOT(layouts, PJRT_Layouts_PJRT_Executable_GetOutputLayouts, executable,
               layout_of_outputs);
  return layouts;
}

PJRT_FFI_Extension make_ffi_extension() {
  PJRT_FFI_Extension ffi{};
  ffi.base = {PJRT_FFI_Extension_STRUCT_SIZE, PJRT_Extension_Type_FFI, nullptr};
  TESSERA_FFI_SLOT(type_register, PJRT_FFI_Type_Register, type_name, ffi_type_register);
  TESSERA_FFI_SLOT(user_data_add, PJRT_FFI_UserData_Add, context, ffi_user_data_add);
  TESSERA_FFI_SLOT(register_handler, PJRT_FFI_Register_Handler, handler, ffi_register_handler);
  return ffi;
}

}  // namespace

// JAX and others know later versions of an extension and call functions beyond the struct_size of
// ours unless the pointer that they find there is null: so nulls follow.
template <typename Extension>
struct NullTerminated {
  Extension extension;
  void* nulls[16] = {};
};

PJRT_Extension_Base* extensions() {
  static NullTerminated<PJRT_Layouts_Extension> layouts{make_layouts_extension()};
  static NullTerminated<PJRT_FFI_Extension> ffi{make_ffi_extension()};
  layouts.extension.base.next = &ffi.extension.base;
  return &layouts.extension.base;
}

}  // namespace tessera::pjrt_cpu
