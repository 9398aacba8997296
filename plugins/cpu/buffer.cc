// Buffers that exist: what they are, device to host, copies, deletion, external references.
#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {
namespace {

// Most questions have no answer once the memory is gone; XLA would abort the process on some of
// them.
absl::Status check_alive(const PJRT_Buffer& buffer) {
  if (!buffer.buffer->IsDeleted()) return absl::OkStatus();
  return invalid("the buffer has been deleted or donated");
}

absl::Status buffer_destroy(PJRT_Buffer_Destroy_Args& args) {
  delete args.buffer;
  return absl::OkStatus();
}

absl::Status buffer_element_type(PJRT_Buffer_ElementType_Args& args) {
  args.type = to_pjrt_type(args.buffer->buffer->element_type());
  return absl::OkStatus();
}

absl::Status buffer_dimensions(PJRT_Buffer_Dimensions_Args& args) {
  return give(args.buffer->buffer->dimensions(), args.dims, args.num_dims);
}

absl::Status buffer_unpadded_dimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  std::lock_guard lock(args.buffer->mutex);
  if (args.buffer->unpadded_dims.empty()) {
    TF_ASSIGN_OR_RETURN(args.buffer->unpadded_dims, args.buffer->buffer->logical_dimensions());
  }
  return give(args.buffer->unpadded_dims, args.unpadded_dims, args.num_dims);
}

absl::Status buffer_dynamic_dimensions(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  std::lock_guard lock(args.buffer->mutex);
  if (args.buffer->dynamic_dims.empty() && args.buffer->buffer->has_dynamic_dimensions()) {
    const auto dynamic = args.buffer->buffer->is_dynamic_dimension();
    for (size_t i = 0; i < dynamic.size(); ++i) {
      if (dynamic[i]) args.buffer->dynamic_dims.push_back(i);
    }
  }
  return give(args.buffer->dynamic_dims, args.dynamic_dim_indices, args.num_dynamic_dims);
}

absl::Status buffer_memory_layout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  std::lock_guard lock(args.buffer->mutex);
  if (args.buffer->minor_to_major.empty()) {  // never written twice: callers hold pointers into it
    const auto order = args.buffer->buffer->layout()->xla_layout().minor_to_major();
    args.buffer->minor_to_major.assign(order.begin(), order.end());
  }
  args.layout = {};
  args.layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
  return give(args.buffer->minor_to_major, args.layout.tiled.minor_to_major,
              args.layout.tiled.minor_to_major_size);
}

absl::Status buffer_size(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  TF_ASSIGN_OR_RETURN(args.on_device_size_in_bytes, args.buffer->buffer->GetOnDeviceSizeInBytes());
  return absl::OkStatus();
}

absl::Status buffer_device(PJRT_Buffer_Device_Args& args) {
  args.device = args.buffer->client->device_of[args.buffer->buffer->device()];
  return absl::OkStatus();
}

absl::Status buffer_memory(PJRT_Buffer_Memory_Args& args) {
  args.memory = args.buffer->client->memory_of[args.buffer->buffer->memory_space()];
  return absl::OkStatus();
}

absl::Status buffer_delete(PJRT_Buffer_Delete_Args& args) {
  args.buffer->buffer->Delete();
  return absl::OkStatus();
}

absl::Status buffer_is_deleted(PJRT_Buffer_IsDeleted_Args& args) {
  args.is_deleted = args.buffer->buffer->IsDeleted();
  return absl::OkStatus();
}

absl::Status buffer_is_on_cpu(PJRT_Buffer_IsOnCpu_Args& args) {
  args.is_on_cpu = args.buffer->buffer->IsOnCpu();
  return absl::OkStatus();
}

absl::Status buffer_ready_event(PJRT_Buffer_ReadyEvent_Args& args) {
  args.event = make_event(args.buffer->buffer->GetReadyFuture());
  return absl::OkStatus();
}

// ---- to host
// --------------------------------------------------------------------------------------------------------

// The shape of a host copy, in the caller's layout or the device's. Host arrays hold one element a
// byte where the device packs several (int4 and smaller).
absl::StatusOr<xla::Shape> device_order_shape(PJRT_Buffer& buffer) {
  xla::Shape shape = buffer.buffer->on_device_shape();
  if (shape.is_dynamic()) {
    TF_ASSIGN_OR_RETURN(shape, buffer.buffer->logical_on_device_shape());
  }
  if (!shape.IsArray()) return invalid("the buffer is not an array");
  return xla::ShapeUtil::MakeShapeWithDenseLayout(shape.element_type(), shape.dimensions(),
                                                  shape.layout().minor_to_major());
}

// XLA leaves the unused high bits of unpacked int4 and int2 zero; on the host a byte is the number.
void extend_signs(xla::PrimitiveType type, char* bytes, size_t size) {
  const int unused = type == xla::S4 ? 4 : type == xla::S2 ? 6 : 0;
  if (unused == 0) return;
  for (size_t i = 0; i < size; ++i) {
    const auto shifted = static_cast<int8_t>(static_cast<uint8_t>(bytes[i]) << unused);
    bytes[i] = static_cast<char>(shifted >> unused);
  }
}

// XLA copies in the device's order whatever the literal's layout: another order needs a second
// copy.
xla::Future<> copy_to_host(xla::PjRtBuffer& buffer, const xla::Shape& device_order,
                           const xla::Shape& wanted, char* dst) {
  auto [promise, future] = xla::MakePromise<>();
  auto set = std::make_shared<xla::Promise<>>(std::move(promise));
  auto to = std::make_shared<xla::MutableBorrowingLiteral>(dst, wanted);
  std::shared_ptr<xla::Literal> staging;
  if (!xla::LayoutUtil::LayoutsInShapesEqual(device_order, wanted))
    staging = std::make_shared<xla::Literal>(device_order);
  xla::MutableLiteralBase* const first =
      staging ? static_cast<xla::MutableLiteralBase*>(staging.get()) : to.get();
  buffer.ToLiteral(first).OnReady(
      [set, to, staging, dst](absl::Status status) {  // both literals live until here
        if (status.ok() && staging) status = to->CopyFrom(*staging);
        if (status.ok())
          extend_signs(to->shape().element_type(), dst, static_cast<size_t>(to->size_bytes()));
        set->Set(std::move(status));
      });
  return std::move(future);
}

absl::Status buffer_to_host(PJRT_Buffer_ToHostBuffer_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.src));
  TF_ASSIGN_OR_RETURN(const xla::Shape device_order, device_order_shape(*args.src));
  TF_ASSIGN_OR_RETURN(const std::optional<xla::Layout> layout,
                      to_xla_layout(args.host_layout, device_order));
  xla::Shape wanted = device_order;
  if (layout.has_value()) *wanted.mutable_layout() = *layout;
  const size_t bytes = static_cast<size_t>(xla::ShapeUtil::ByteSizeOf(wanted));
  if (args.dst == nullptr) {
    args.dst_size = bytes;
    return absl::OkStatus();
  }
  if (args.dst_size < bytes) {
    return invalid(absl::StrCat("dst_size is ", args.dst_size, " bytes, the array needs ", bytes));
  }
  args.event = make_event(
      copy_to_host(*args.src->buffer, device_order, wanted, static_cast<char*>(args.dst)));
  return absl::OkStatus();
}

absl::Status check_range(PJRT_Buffer& buffer, int64_t offset, int64_t size) {
  TF_RETURN_IF_ERROR(check_alive(buffer));
  TF_ASSIGN_OR_RETURN(const size_t total, buffer.buffer->GetOnDeviceSizeInBytes());
  const auto most = static_cast<int64_t>(total);
  if (offset >= 0 && size >= 0 && offset <= most && size <= most - offset) return absl::OkStatus();
  return invalid(absl::StrCat("range of ", size, " bytes from ", offset,
                              " is outside the buffer of ", total, " bytes"));
}

absl::Status buffer_copy_raw(PJRT_Buffer_CopyRawToHost_Args& args) {
  TF_RETURN_IF_ERROR(check_range(*args.buffer, args.offset, args.transfer_size));
  if (args.transfer_size > 0) TF_RETURN_IF_ERROR(require(args.dst, "dst"));
  args.event =
      make_event(args.buffer->buffer->CopyRawToHost(args.dst, args.offset, args.transfer_size));
  return absl::OkStatus();
}

absl::Status buffer_copy_raw_future(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  TF_RETURN_IF_ERROR(check_range(*args.buffer, args.offset, args.transfer_size));
  auto [promise, future] = xla::MakePromise<void*>();
  args.event = make_event(
      args.buffer->buffer->CopyRawToHostFuture(std::move(future), args.offset, args.transfer_size));
  args.callback_data = new xla::Promise<void*>(std::move(promise));
  args.future_ready_callback = [](PJRT_Buffer_CopyRawToHostFuture_Callback_Args* callback) {
    if (callback == nullptr || callback->callback_data == nullptr) return;
    const std::unique_ptr<xla::Promise<void*>> owned(
        static_cast<xla::Promise<void*>*>(callback->callback_data));
    const absl::Status status =
        status_of(callback->error_code, callback->error_message, callback->error_message_size);
    if (status.ok()) {
      owned->Set(callback->dst);
    } else {
      owned->Set(status);
    }
  };
  return absl::OkStatus();
}

// ---- copies
// ---------------------------------------------------------------------------------------------------------

absl::StatusOr<PJRT_Buffer*> copy_to(PJRT_Buffer& buffer, PJRT_Memory* memory) {
  TF_RETURN_IF_ERROR(check_alive(buffer));
  TF_ASSIGN_OR_RETURN(auto copy, buffer.buffer->CopyToMemorySpace(memory->space));
  return make_buffer(std::move(copy), memory->client);
}

absl::Status buffer_copy_to_device(PJRT_Buffer_CopyToDevice_Args& args) {
  TF_RETURN_IF_ERROR(require(args.dst_device, "dst_device"));
  if (args.dst_device->default_memory == nullptr)
    return invalid("dst_device belongs to another process");
  TF_ASSIGN_OR_RETURN(args.dst_buffer, copy_to(*args.buffer, args.dst_device->default_memory));
  return absl::OkStatus();
}

absl::Status buffer_copy_to_memory(PJRT_Buffer_CopyToMemory_Args& args) {
  TF_RETURN_IF_ERROR(require(args.dst_memory, "dst_memory"));
  TF_ASSIGN_OR_RETURN(args.dst_buffer, copy_to(*args.buffer, args.dst_memory));
  return absl::OkStatus();
}

absl::Status buffer_donate_with_dependency(PJRT_Buffer_DonateWithControlDependency_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  auto [promise, future] = xla::MakePromise<>();
  TF_ASSIGN_OR_RETURN(auto donated,
                      args.buffer->buffer->DonateWithControlDependency(std::move(future)));
  args.out_buffer = make_buffer(std::move(donated), args.buffer->client);
  args.callback_data = new xla::Promise<>(std::move(promise));
  args.dependency_ready_callback =
      [](PJRT_Buffer_DonateWithControlDependency_Callback_Args* callback) {
        if (callback == nullptr || callback->callback_data == nullptr) return;
        const std::unique_ptr<xla::Promise<>> owned(
            static_cast<xla::Promise<>*>(callback->callback_data));
        owned->Set(
            status_of(callback->error_code, callback->error_message, callback->error_message_size));
      };
  return absl::OkStatus();
}

// ---- pointers
// -------------------------------------------------------------------------------------------------------

absl::Status buffer_unsafe_pointer(PJRT_Buffer_UnsafePointer_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  TF_ASSIGN_OR_RETURN(args.buffer_pointer,
                      args.buffer->client->client->UnsafeBufferPointer(args.buffer->buffer.get()));
  return absl::OkStatus();
}

absl::Status buffer_opaque_pointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  TF_ASSIGN_OR_RETURN(const auto reference, args.buffer->buffer->AcquireExternalReference());
  args.device_memory_ptr = reference->OpaqueDeviceMemoryDataPointer();
  return absl::OkStatus();
}

absl::Status buffer_increase_references(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  TF_RETURN_IF_ERROR(check_alive(*args.buffer));
  TF_ASSIGN_OR_RETURN(auto reference, args.buffer->buffer->AcquireExternalReference());
  std::lock_guard lock(args.buffer->mutex);
  args.buffer->external_references.push_back(std::move(reference));
  return absl::OkStatus();
}

absl::Status buffer_decrease_references(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  std::unique_ptr<xla::PjRtBuffer::ExternalReference>
      last;  // its destructor may block: not under the lock
  std::lock_guard lock(args.buffer->mutex);
  if (args.buffer->external_references.empty()) {
    return invalid("the buffer has no external reference: decreased more often than increased");
  }
  last = std::move(args.buffer->external_references.back());
  args.buffer->external_references.pop_back();
  return absl::OkStatus();
}

absl::Status stream_unimplemented() {
  return absl::UnimplementedError(
      "this plugin hands out no copy-to-device streams: host send and receive are unsupported");
}
absl::Status stream_destroy(PJRT_CopyToDeviceStream_Destroy_Args&) {
  return stream_unimplemented();
}
absl::Status stream_add_chunk(PJRT_CopyToDeviceStream_AddChunk_Args&) {
  return stream_unimplemented();
}
absl::Status stream_total_bytes(PJRT_CopyToDeviceStream_TotalBytes_Args&) {
  return stream_unimplemented();
}
absl::Status stream_granule_size(PJRT_CopyToDeviceStream_GranuleSize_Args&) {
  return stream_unimplemented();
}
absl::Status stream_current_bytes(PJRT_CopyToDeviceStream_CurrentBytes_Args&) {
  return stream_unimplemented();
}

}  // namespace

void fill_buffer_slots(PJRT_Api& api) {
  TESSERA_SLOT(api, PJRT_Buffer_Destroy, buffer, buffer_destroy);
  TESSERA_SLOT(api, PJRT_Buffer_ElementType, buffer, buffer_element_type);
  TESSERA_SLOT(api, PJRT_Buffer_Dimensions, buffer, buffer_dimensions);
  TESSERA_SLOT(api, PJRT_Buffer_UnpaddedDimensions, buffer, buffer_unpadded_dimensions);
  TESSERA_SLOT(api, PJRT_Buffer_DynamicDimensionIndices, buffer, buffer_dynamic_dimensions);
  TESSERA_SLOT(api, PJRT_Buffer_GetMemoryLayout, buffer, buffer_memory_layout);
  TESSERA_SLOT(api, PJRT_Buffer_OnDeviceSizeInBytes, buffer, buffer_size);
  TESSERA_SLOT(api, PJRT_Buffer_Device, buffer, buffer_device);
  TESSERA_SLOT(api, PJRT_Buffer_Memory, buffer, buffer_memory);
  TESSERA_SLOT(api, PJRT_Buffer_Delete, buffer, buffer_delete);
  TESSERA_SLOT(api, PJRT_Buffer_IsDeleted, buffer, buffer_is_deleted);
  TESSERA_SLOT(api, PJRT_Buffer_IsOnCpu, buffer, buffer_is_on_cpu);
  TESSERA_SLOT(api, PJRT_Buffer_ReadyEvent, buffer, buffer_ready_event);
  TESSERA_SLOT(api, PJRT_Buffer_ToHostBuffer, src, buffer_to_host);
  TESSERA_SLOT(api, PJRT_Buffer_CopyRawToHost, buffer, buffer_copy_raw);
  TESSERA_SLOT(api, PJRT_Buffer_CopyRawToHostFuture, buffer, buffer_copy_raw_future);
  TESSERA_SLOT(api, PJRT_Buffer_CopyToDevice, buffer, buffer_copy_to_device);
  TESSERA_SLOT(api, PJRT_Buffer_CopyToMemory, buffer, buffer_copy_to_memory);
  TESSERA_SLOT(api, PJRT_Buffer_DonateWithControlDependency, buffer, buffer_donate_with_dependency);
  TESSERA_SLOT(api, PJRT_Buffer_UnsafePointer, buffer, buffer_unsafe_pointer);
  TESSERA_SLOT(api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, buffer, buffer_opaque_pointer);
  TESSERA_SLOT(api, PJRT_Buffer_IncreaseExternalReferenceCount, buffer, buffer_increase_references);
  TESSERA_SLOT(api, PJRT_Buffer_DecreaseExternalReferenceCount, buffer, buffer_decrease_references);
  TESSERA_SLOT(api, PJRT_CopyToDeviceStream_Destroy, stream, stream_destroy);
  TESSERA_SLOT(api, PJRT_CopyToDeviceStream_AddChunk, stream, stream_add_chunk);
  TESSERA_SLOT(api, PJRT_CopyToDeviceStream_TotalBytes, stream, stream_total_bytes);
  TESSERA_SLOT(api, PJRT_CopyToDeviceStream_GranuleSize, stream, stream_granule_size);
  TESSERA_SLOT(api, PJRT_CopyToDeviceStream_CurrentBytes, stream, stream_current_bytes);
}

}  // namespace tessera::pjrt_cpu
