// Buffers that come to be: from host memory, as views, empty, in error, as aliases, and by
// asynchronous transfers.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

using Semantics = xla::PjRtClient::HostBufferSemantics;

absl::StatusOr<Semantics> to_semantics(PJRT_HostBufferSemantics semantics) {
  switch (semantics) {
    case PJRT_HostBufferSemantics_kImmutableOnlyDuringCall:
      return Semantics::kImmutableOnlyDuringCall;
    case PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes:
      return Semantics::kImmutableUntilTransferCompletes;
    case PJRT_HostBufferSemantics_kImmutableZeroCopy:
      return Semantics::kImmutableZeroCopy;
    case PJRT_HostBufferSemantics_kMutableZeroCopy:
      return Semantics::kMutableZeroCopy;
  }
  return invalid(
      absl::StrCat("host_buffer_semantics ", static_cast<int>(semantics), " is unknown"));
}

absl::Status buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, make_shape(args.type, args.dims, args.num_dims));
  TF_ASSIGN_OR_RETURN(const Semantics semantics, to_semantics(args.host_buffer_semantics));
  TF_ASSIGN_OR_RETURN(xla::PjRtMemorySpace* const space,
                      choose_memory(args.client, args.memory, args.device));
  TF_ASSIGN_OR_RETURN(const std::optional<xla::Layout> layout,
                      to_xla_layout(args.device_layout, shape));
  if (!xla::ShapeUtil::IsZeroElementArray(shape)) TF_RETURN_IF_ERROR(require(args.data, "data"));
  std::optional<absl::Span<const int64_t>> strides;
  if (args.byte_strides != nullptr && args.num_byte_strides > 0) {
    if (args.num_byte_strides != args.num_dims) {
      return invalid(absl::StrCat("num_byte_strides is ", args.num_byte_strides, ", num_dims is ",
                                  args.num_dims));
    }
    strides = absl::MakeConstSpan(args.byte_strides, args.num_byte_strides);
  }
  auto [promise, future] = xla::MakePromise<>();
  TF_ASSIGN_OR_RETURN(
      auto buffer, args.client->client->BufferFromHostBuffer(
                       args.data, shape.element_type(), shape.dimensions(), strides, semantics,
                       [promise = std::move(promise)]() mutable { promise.Set(absl::OkStatus()); },
                       space, layout.has_value() ? &*layout : nullptr));
  args.buffer = make_buffer(std::move(buffer), args.client);
  args.done_with_host_buffer = make_event(std::move(future));
  return absl::OkStatus();
}

// The shape of a buffer to be, with the caller's layout or the default one.
absl::StatusOr<xla::Shape> device_shape(PJRT_Client* client, PJRT_Buffer_Type type,
                                        const int64_t* dims, size_t num_dims,
                                        const PJRT_Buffer_MemoryLayout* layout) {
  TF_ASSIGN_OR_RETURN(xla::Shape shape, make_shape(type, dims, num_dims));
  TF_ASSIGN_OR_RETURN(const std::optional<xla::Layout> wanted, to_xla_layout(layout, shape));
  TF_ASSIGN_OR_RETURN(xla::Layout default_layout,
                      client->client->GetDefaultLayout(shape.element_type(), shape.dimensions()));
  *shape.mutable_layout() = std::move(default_layout);
  if (wanted.has_value()) {
    const auto order = wanted->minor_to_major();
    shape.mutable_layout()->mutable_minor_to_major()->assign(order.begin(), order.end());
  }
  return shape;
}

absl::Status create_view(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, device_shape(args.client, args.element_type,
                                                           args.dims, args.num_dims, args.layout));
  if (!xla::ShapeUtil::IsZeroElementArray(shape))
    TF_RETURN_IF_ERROR(require(args.device_buffer_ptr, "device_buffer_ptr"));
  TF_ASSIGN_OR_RETURN(xla::PjRtMemorySpace* const space,
                      choose_memory(args.client, args.memory, args.device));
  std::function<void()> on_delete = [] {};
  if (args.on_delete_callback != nullptr) {
    on_delete = [callback = args.on_delete_callback, data = args.device_buffer_ptr,
                 arg = args.on_delete_callback_arg] { callback(data, arg); };
  }
  std::optional<std::intptr_t> stream;
  if (args.stream != 0) stream = args.stream;
  TF_ASSIGN_OR_RETURN(auto buffer,
                      args.client->client->CreateViewOfDeviceBuffer(
                          args.device_buffer_ptr, shape, space, std::move(on_delete), stream));
  args.buffer = make_buffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

// What a buffer that has no content yet is to be, and where.
struct Place {
  xla::Shape shape;
  xla::PjRtMemorySpace* space;
};

template <typename Args>
absl::StatusOr<Place> read_place(const Args& args, const PJRT_Device* device) {
  TF_ASSIGN_OR_RETURN(xla::Shape shape,
                      device_shape(args.client, args.shape_element_type, args.shape_dims,
                                   args.shape_num_dims, args.shape_layout));
  TF_ASSIGN_OR_RETURN(xla::PjRtMemorySpace* const space,
                      choose_memory(args.client, args.memory, device));
  return Place{std::move(shape), space};
}

absl::Status create_uninitialized(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  TF_ASSIGN_OR_RETURN(const Place to, read_place(args, args.device));
  TF_ASSIGN_OR_RETURN(auto buffer,
                      args.client->client->CreateUninitializedBuffer(to.shape, to.space));
  args.buffer = make_buffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

absl::Status create_error(PJRT_Client_CreateErrorBuffer_Args& args) {
  if (args.error_code == PJRT_Error_Code_OK)
    return invalid("error_code is OK, so there is no error to carry");
  TF_ASSIGN_OR_RETURN(const Place to, read_place(args, nullptr));
  TF_ASSIGN_OR_RETURN(auto buffer,
                      args.client->client->CreateErrorBuffer(
                          status_of(args.error_code, args.error_message, args.error_message_size),
                          to.shape, to.space));
  args.buffer = make_buffer(std::move(buffer), args.client);
  return absl::OkStatus();
}

absl::Status create_alias(PJRT_Client_CreateAliasBuffer_Args& args) {
  TF_ASSIGN_OR_RETURN(const Place to, read_place(args, nullptr));
  TF_ASSIGN_OR_RETURN(auto alias, args.client->client->CreateAliasBuffer(to.shape, to.space));
  args.alias_buffer = make_buffer(std::move(alias.first), args.client);
  args.fulfill_alias_buffer_cb = new PJRT_FulfillAliasBufferCallback{std::move(alias.second)};
  return absl::OkStatus();
}

absl::Status fulfill_alias(PJRT_Client_FulfillAliasBuffer_Args& args) {
  TF_RETURN_IF_ERROR(require(args.fulfill_alias_buffer_cb, "fulfill_alias_buffer_cb"));
  absl::StatusOr<xla::PjRtBuffer*> source =
      status_of(args.status_code, args.error_message, args.error_message_size);
  if (args.status_code == PJRT_Error_Code_OK) {
    TF_RETURN_IF_ERROR(require(args.buffer, "buffer"));
    source = args.buffer->buffer.get();
  }
  const std::unique_ptr<PJRT_FulfillAliasBufferCallback> owned(args.fulfill_alias_buffer_cb);
  return std::move(owned->fulfill)(std::move(source));
}

// ---- asynchronous transfers
// -----------------------------------------------------------------------------------------

absl::Status create_transfer_manager(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  if (args.num_shape_specs > 0) TF_RETURN_IF_ERROR(require(args.shape_specs, "shape_specs"));
  if (args.device_layouts != nullptr && args.num_device_layouts != args.num_shape_specs) {
    return invalid(absl::StrCat("num_device_layouts is ", args.num_device_layouts,
                                ", num_shape_specs is ", args.num_shape_specs));
  }
  TF_ASSIGN_OR_RETURN(xla::PjRtMemorySpace* const space,
                      choose_memory(args.client, args.memory, nullptr));
  auto handle = std::make_unique<PJRT_AsyncHostToDeviceTransferManager>();
  std::vector<xla::PjRtClient::ShapeSpec> specs;
  std::vector<std::optional<xla::Layout>> layouts;
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args.shape_specs[i];
    TF_RETURN_IF_ERROR(
        check_struct_size("PJRT_ShapeSpec", PJRT_ShapeSpec_STRUCT_SIZE, spec.struct_size));
    TF_ASSIGN_OR_RETURN(xla::Shape shape, make_shape(spec.element_type, spec.dims, spec.num_dims));
    specs.push_back({shape.element_type(),
                     xla::DimensionVector(shape.dimensions().begin(), shape.dimensions().end())});
    TF_ASSIGN_OR_RETURN(
        layouts.emplace_back(),
        to_xla_layout(args.device_layouts == nullptr ? nullptr : args.device_layouts[i], shape));
    handle->shapes.push_back(std::move(shape));
  }
  std::optional<absl::Span<const std::optional<xla::Layout>>> device_layouts;
  if (args.device_layouts != nullptr) device_layouts = layouts;
  TF_ASSIGN_OR_RETURN(handle->manager, args.client->client->CreateBuffersForAsyncHostToDevice(
                                           specs, device_layouts, space));
  handle->client = args.client;
  handle->retrieved.resize(specs.size(), false);
  handle->finished.resize(specs.size(), false);
  args.transfer_manager = handle.release();
  return absl::OkStatus();
}

absl::Status manager_destroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& args) {
  delete args.transfer_manager;
  return absl::OkStatus();
}

absl::Status check_index(const PJRT_AsyncHostToDeviceTransferManager& manager, int index) {
  if (index >= 0 && static_cast<size_t>(index) < manager.shapes.size()) return absl::OkStatus();
  return invalid(absl::StrCat("buffer_index is ", index, ", the manager has ",
                              manager.shapes.size(), " buffers"));
}

// XLA aborts the process when a buffer that is complete is written again.
absl::Status begin_transfer(PJRT_AsyncHostToDeviceTransferManager& manager, int index, bool last) {
  TF_RETURN_IF_ERROR(check_index(manager, index));
  std::lock_guard lock(manager.mutex);
  if (manager.finished[index])
    return absl::FailedPreconditionError(absl::StrCat("buffer ", index, " is complete already"));
  manager.finished[index] = last;
  return absl::OkStatus();
}

absl::Status manager_transfer_data(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  auto& manager = *args.transfer_manager;
  TF_RETURN_IF_ERROR(check_index(manager, args.buffer_index));
  const auto size = static_cast<int64_t>(manager.manager->buffer_size(args.buffer_index));
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > size ||
      args.transfer_size > size - args.offset) {
    return invalid(absl::StrCat("range of ", args.transfer_size, " bytes from ", args.offset,
                                " is outside buffer ", args.buffer_index, " of ", size, " bytes"));
  }
  if (args.transfer_size > 0) TF_RETURN_IF_ERROR(require(args.data, "data"));
  TF_RETURN_IF_ERROR(begin_transfer(manager, args.buffer_index, args.is_last_transfer));
  auto [promise, future] = xla::MakePromise<>();
  TF_RETURN_IF_ERROR(manager.manager->TransferRawDataToSubBuffer(
      args.buffer_index, args.data, args.offset, args.transfer_size, args.is_last_transfer,
      [promise = std::move(promise)]() mutable { promise.Set(absl::OkStatus()); }));
  args.done_with_h2d_transfer = make_event(std::move(future));
  return absl::OkStatus();
}

absl::Status manager_transfer_literal(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  auto& manager = *args.transfer_manager;
  TF_RETURN_IF_ERROR(check_index(manager, args.buffer_index));
  TF_ASSIGN_OR_RETURN(xla::Shape shape,
                      make_shape(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  if (!xla::ShapeUtil::Compatible(shape, manager.shapes[args.buffer_index])) {
    return invalid(absl::StrCat("the literal is ", xla::ShapeUtil::HumanString(shape), ", buffer ",
                                args.buffer_index, " is ",
                                xla::ShapeUtil::HumanString(manager.shapes[args.buffer_index])));
  }
  TF_ASSIGN_OR_RETURN(const std::optional<xla::Layout> layout,
                      to_xla_layout(args.shape_layout, shape));
  if (layout.has_value()) *shape.mutable_layout() = *layout;
  if (!xla::ShapeUtil::IsZeroElementArray(shape)) TF_RETURN_IF_ERROR(require(args.data, "data"));
  TF_RETURN_IF_ERROR(begin_transfer(manager, args.buffer_index, true));
  auto [promise, future] = xla::MakePromise<>();
  auto literal =
      std::make_shared<xla::BorrowingLiteral>(static_cast<const char*>(args.data), shape);
  TF_RETURN_IF_ERROR(manager.manager->TransferLiteralToBuffer(
      args.buffer_index, *literal,
      [promise = std::move(promise), literal]() mutable { promise.Set(absl::OkStatus()); }));
  args.done_with_h2d_transfer = make_event(std::move(future));
  return absl::OkStatus();
}

absl::Status manager_retrieve(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& args) {
  auto& manager = *args.transfer_manager;
  TF_RETURN_IF_ERROR(check_index(manager, args.buffer_index));
  std::lock_guard lock(manager.mutex);
  if (manager.retrieved[args.buffer_index]) {
    return absl::FailedPreconditionError(
        absl::StrCat("buffer ", args.buffer_index, " was retrieved already"));
  }
  manager.retrieved[args.buffer_index] = true;
  args.buffer_out = make_buffer(manager.manager->RetrieveBuffer(args.buffer_index), manager.client);
  return absl::OkStatus();
}

absl::Status manager_device(PJRT_AsyncHostToDeviceTransferManager_Device_Args& args) {
  args.device_out =
      args.transfer_manager->client->device_of[args.transfer_manager->manager->device()];
  return absl::OkStatus();
}

absl::Status manager_buffer_count(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& args) {
  args.buffer_count = args.transfer_manager->manager->buffer_count();
  return absl::OkStatus();
}

absl::Status manager_buffer_size(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& args) {
  TF_RETURN_IF_ERROR(check_index(*args.transfer_manager, args.buffer_index));
  args.buffer_size = args.transfer_manager->manager->buffer_size(args.buffer_index);
  return absl::OkStatus();
}

absl::Status manager_set_error(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& args) {
  if (args.error_code == PJRT_Error_Code_OK)
    return invalid("error_code is OK, so there is no error to set");
  TF_RETURN_IF_ERROR(begin_transfer(*args.transfer_manager, args.buffer_index, true));
  args.transfer_manager->manager->SetBufferError(
      args.buffer_index, status_of(args.error_code, args.error_message, args.error_message_size));
  return absl::OkStatus();
}

absl::Status manager_add_metadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args& args) {
  if (args.num_metadata > 0)
    TF_RETURN_IF_ERROR(require(args.transfer_metadata, "transfer_metadata"));
  absl::flat_hash_map<std::string, std::string> metadata;
  for (size_t i = 0; i < args.num_metadata; ++i) {
    const PJRT_NamedValue& value = args.transfer_metadata[i];
    TF_RETURN_IF_ERROR(
        check_struct_size("PJRT_NamedValue", PJRT_NamedValue_STRUCT_SIZE, value.struct_size));
    if (value.type != PJRT_NamedValue_kString) return invalid("transfer metadata must be strings");
    metadata[view(value.name, value.name_size)] = view(value.string_value, value.value_size);
  }
  args.transfer_manager->manager->AddTransferMetadata(metadata);
  return absl::OkStatus();
}

}  // namespace

void fill_transfer_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_Client_BufferFromHostBuffer, client, buffer_from_host);
  TESSERA_SLOT(api, PJRT_Client_CreateViewOfDeviceBuffer, client, create_view);
  TESSERA_SLOT(api, PJRT_Client_CreateUninitializedBuffer, client, create_uninitialized);
  TESSERA_SLOT(api, PJRT_Client_CreateErrorBuffer, client, create_error);
  TESSERA_SLOT(api, PJRT_Client_CreateAliasBuffer, client, create_alias);
  TESSERA_SLOT(api, PJRT_Client_FulfillAliasBuffer, client, fulfill_alias);
  TESSERA_SLOT(api, PJRT_Client_CreateBuffersForAsyncHostToDevice, client, create_transfer_manager);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager,
               manager_destroy);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer_manager,
               manager_transfer_data);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, transfer_manager,
               manager_transfer_literal);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, transfer_manager,
               manager_retrieve);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_Device, transfer_manager, manager_device);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_BufferCount, transfer_manager,
               manager_buffer_count);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_BufferSize, transfer_manager,
               manager_buffer_size);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_SetBufferError, transfer_manager,
               manager_set_error);
  TESSERA_SLOT(api, PJRT_AsyncHostToDeviceTransferManager_AddMetadata, transfer_manager,
               manager_add_metadata);
}

}  // namespace tessera::pjrt_cpu
