#include "tessera/pjrt/buffer.h"

#include <utility>
#include <vector>

#include "tessera/pjrt/api_internal.h"
#include "tessera/pjrt/element_type_internal.h"

namespace tessera::pjrt {
namespace {

/// Dense and row-major: without it a plugin copies out in whatever layout the device has.
struct RowMajor {
  explicit RowMajor(int rank) {
    for (int dim = rank - 1; dim >= 0; --dim) minor_to_major.push_back(dim);
    layout.struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE;
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = minor_to_major.data();
    layout.tiled.minor_to_major_size = minor_to_major.size();
  }
  std::vector<int64_t> minor_to_major;
  PJRT_Buffer_MemoryLayout layout = {};
};

// The upper half of a 4-bit integer's byte comes from plugins as it may.
void complete_nibbles(HostArray& array) {
  const DType dtype = array.shape().dtype;
  if (dtype == DType::kU4) {
    for (uint8_t& value : array.as<uint8_t>()) value &= 15;
  } else if (dtype == DType::kS4) {
    for (int8_t& value : array.as<int8_t>()) value = static_cast<int8_t>(((value & 15) ^ 8) - 8);
  }
}

}  // namespace

Buffer::Buffer(std::shared_ptr<const ClientHandle> client, PJRT_Buffer* buffer)
    : client_(std::move(client)), buffer_(buffer) {}

Buffer::Buffer(Buffer&& other) noexcept
    : client_(std::move(other.client_)), buffer_(std::exchange(other.buffer_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(client_, other.client_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Buffer::~Buffer() {
  if (buffer_ == nullptr) return;
  PJRT_ARGS(PJRT_Buffer_Destroy, args);
  args.buffer = buffer_;
  PJRT_CALL(client_->api, PJRT_Buffer_Destroy, args).IgnoreError();
}

Result<Shape> Buffer::shape() const {
  PJRT_ARGS(PJRT_Buffer_ElementType, type);
  type.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_ElementType, type));
  PJRT_ARGS(PJRT_Buffer_Dimensions, dims);
  dims.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_Dimensions, dims));
  ASSIGN_OR_RETURN(DType dtype, from_c(type.type));
  return Shape{dtype, Dims(dims.dims, dims.dims + dims.num_dims)};
}

Result<Device> Buffer::device() const {
  PJRT_ARGS(PJRT_Buffer_Device, args);
  args.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_Device, args));
  return Device::describe(client_->api, args.device);
}

Result<Memory> Buffer::memory() const {
  PJRT_ARGS(PJRT_Buffer_Memory, args);
  args.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_Memory, args));
  return Memory(client_->api, args.memory);
}

Result<size_t> Buffer::on_device_bytes() const {
  PJRT_ARGS(PJRT_Buffer_OnDeviceSizeInBytes, args);
  args.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_OnDeviceSizeInBytes, args));
  return args.on_device_size_in_bytes;
}

Result<Event> Buffer::ready() const {
  PJRT_ARGS(PJRT_Buffer_ReadyEvent, args);
  args.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_ReadyEvent, args));
  return Event(client_->api, args.event);
}

Result<Event> Buffer::copy_to_host(std::span<std::byte> destination) const {
  ASSIGN_OR_RETURN(const Shape shape, this->shape());
  if (static_cast<int64_t>(destination.size()) < shape.host_bytes()) {
    return invalid_argument("copy of ", to_string(shape), " to the host needs ", shape.host_bytes(),
                            " bytes, got ", destination.size());
  }
  // A null destination would ask for the size; an array without elements has none to copy.
  if (destination.empty()) return Event();
  RowMajor row_major(shape.rank());
  PJRT_ARGS(PJRT_Buffer_ToHostBuffer, args);
  args.src = buffer_;
  args.host_layout = &row_major.layout;
  args.dst = destination.data();
  args.dst_size = destination.size();
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_ToHostBuffer, args));
  return Event(client_->api, args.event);
}

Result<std::span<std::byte>> Buffer::host_memory() const {
  PJRT_ARGS(PJRT_Client_PlatformName, platform);
  platform.client = client_->client;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Client_PlatformName, platform));
  const std::string_view name(platform.platform_name, platform.platform_name_size);
  if (name != "cpu") return absl::UnimplementedError(str_cat(name, ": not the host's memory"));
  ASSIGN_OR_RETURN(const Shape shape, this->shape());
  ASSIGN_OR_RETURN(const size_t bytes, on_device_bytes());
  if (static_cast<int64_t>(bytes) != shape.host_bytes() || shape.dtype == DType::kS4 ||
      shape.dtype == DType::kU4) {
    return absl::UnimplementedError(
        str_cat(to_string(shape), ": not on the device as on the host"));
  }
  if (bytes == 0) return std::span<std::byte>();
  PJRT_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args);
  args.buffer = buffer_;
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args));
  return std::span(static_cast<std::byte*>(args.device_memory_ptr), bytes);
}

Result<HostArray> Buffer::to_host() const {
  ASSIGN_OR_RETURN(Shape shape, this->shape());
  HostArray result(std::move(shape));
  ASSIGN_OR_RETURN(const Event done, copy_to_host(result.bytes()));
  RETURN_IF_ERROR(done.await());
  complete_nibbles(result);
  return result;
}

Result<Buffer> Buffer::copy_to(const Device& device) const {
  PJRT_ARGS(PJRT_Buffer_CopyToDevice, args);
  args.buffer = buffer_;
  args.dst_device = device.handle();
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_CopyToDevice, args));
  return Buffer(client_, args.dst_buffer);
}

Result<Buffer> Buffer::copy_to(const Memory& memory) const {
  PJRT_ARGS(PJRT_Buffer_CopyToMemory, args);
  args.buffer = buffer_;
  args.dst_memory = memory.handle();
  RETURN_IF_ERROR(PJRT_CALL(client_->api, PJRT_Buffer_CopyToMemory, args));
  return Buffer(client_, args.dst_buffer);
}

Status Buffer::remove() {
  PJRT_ARGS(PJRT_Buffer_Delete, args);
  args.buffer = buffer_;
  return PJRT_CALL(client_->api, PJRT_Buffer_Delete, args);
}

bool Buffer::is_deleted() const {
  PJRT_ARGS(PJRT_Buffer_IsDeleted, args);
  args.buffer = buffer_;
  return !PJRT_CALL(client_->api, PJRT_Buffer_IsDeleted, args).ok() || args.is_deleted;
}

}  // namespace tessera::pjrt
