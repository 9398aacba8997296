#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tessera/base/status.h"
#include "tessera/ir/host_array.h"
#include "tessera/pjrt/device.h"
#include "tessera/pjrt/event.h"

struct PJRT_Buffer;

namespace tessera::pjrt {

struct ClientHandle;

/// A tensor on one device, perhaps still being computed or copied. Move-only; destroying it frees
/// the memory as soon as the work that uses it is done. Keeps its client alive. Safe to use from
/// several threads, except for moving and destroying.
class Buffer {
 public:
  /// No buffer: only assigning and destroying are allowed.
  Buffer() = default;
  /// Takes ownership of `buffer`.
  Buffer(std::shared_ptr<const ClientHandle> client, PJRT_Buffer* buffer);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  explicit operator bool() const { return buffer_ != nullptr; }

  /// UNIMPLEMENTED for an element type that DType does not have.
  Result<Shape> shape() const;
  Result<Device> device() const;
  Result<Memory> memory() const;
  /// Bytes that it takes on the device, padding included.
  Result<size_t> on_device_bytes() const;

  /// Ready when the value is there; carries the error of the computation that should have made it.
  Result<Event> ready() const;
  /// Copies to `destination`, which holds shape().host_bytes() and must live until the event:
  /// dense, row-major, four-bit integers a byte each.
  Result<Event> copy_to_host(std::span<std::byte> destination) const;
  /// The device's memory itself, where the host has it as it is: dense, row-major, as long as the
  /// buffer lives. Waits for the value. Only what made the buffer may write to it, and only before
  /// anything else has it; reading must end before the buffer is donated. UNIMPLEMENTED for all but
  /// the CPU, and for elements that lie there in another way (four-bit integers).
  Result<std::span<std::byte>> host_memory() const;
  /// Waits for the value and returns a copy.
  Result<HostArray> to_host() const;
  /// A copy on another device, or in another memory space, perhaps still on its way.
  Result<Buffer> copy_to(const Device& device) const;
  Result<Buffer> copy_to(const Memory& memory) const;

  /// Gives the memory back once pending work has used it. The buffer cannot be read or passed on
  /// afterwards.
  Status remove();
  /// Whether remove() was called or an execution took the buffer over.
  bool is_deleted() const;

  PJRT_Buffer* handle() const { return buffer_; }

 private:
  std::shared_ptr<const ClientHandle> client_;
  PJRT_Buffer* buffer_ = nullptr;
};

}  // namespace tessera::pjrt
