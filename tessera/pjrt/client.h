#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"
#include "tessera/ir/host_array.h"
#include "tessera/pjrt/buffer.h"
#include "tessera/pjrt/compile_options.h"
#include "tessera/pjrt/device.h"
#include "tessera/pjrt/event.h"
#include "tessera/pjrt/executable.h"
#include "tessera/pjrt/named_value.h"
#include "tessera/pjrt/plugin.h"
#include "tessera/pjrt/process_group.h"

namespace tessera::pjrt {

/// A part of a host tensor: `data` is its first element, and `byte_strides` (empty: dense) lead
/// from there.
struct HostView {
  Shape shape;
  const std::byte* data = nullptr;
  std::vector<int64_t> byte_strides;
};

/// What collectives of a client sent to other processes and got from them since it was made: array
/// data, without the headers of any protocol.
struct Traffic {
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t operations = 0;  ///< collectives that had to do with other processes
  absl::Duration waited;    ///< while one of them waited for another process or the network
};

/// A connection to the devices of one plugin. Move-only handle; what it made keeps the connection
/// open. Safe to use from several threads, except for moving and destroying.
class Client {
 public:
  /// `options` are the plugin's own ("cpu_device_count"); an unknown one is the plugin's error.
  /// With a group of several processes all of them make their clients together, in the same order,
  /// and each has all devices of all: the call waits for the others, and its error names those that
  /// do not come.
  static Result<Client> create(const Plugin& plugin, std::span<const NamedValue> options = {},
                               const ProcessGroup& group = {});

  const Plugin& plugin() const { return plugin_; }
  /// "cpu", "cuda", "tpu".
  std::string platform_name() const;
  std::string platform_version() const;
  int process_index() const;

  /// All devices of all processes, in ascending order of their ids.
  std::span<const Device> devices() const { return devices_; }
  /// Those of this process, in ascending order of their ids.
  std::vector<Device> addressable_devices() const;
  /// NOT_FOUND names the ids there are.
  Result<Device> device(int id) const;

  /// Tells the plugin who of the group lives, so that what waits for the dead fails soon. To be
  /// called with each change; processes that are not named stay as they were.
  Status update_processes(std::span<const ProcessState> states) const;
  /// UNIMPLEMENTED where the plugin is not ours.
  Result<Traffic> traffic() const;
  /// The collectives that devices of this process are in, a line each, the oldest
  /// first: "all-reduce among devices 0, 1, 2, 3 for 12.5 s". UNIMPLEMENTED where the plugin is not
  /// ours.
  Result<std::string> collectives_under_way() const;

  /// Copies `array` to `device`; the array may be changed or freed when the call returns.
  Result<Buffer> to_device(const HostArray& array, const Device& device) const;
  /// Copies a part of a tensor; the data may be changed or freed when the call returns.
  Result<Buffer> to_device(const HostView& view, const Device& device) const;
  /// Starts copying `array`, which is kept alive as long as the plugin reads it, be it as the
  /// buffer's own memory.
  Result<Buffer> to_device(std::shared_ptr<const HostArray> array, const Device& device) const;

  /// A tensor whose elements are what the memory happens to hold: to be filled through
  /// Buffer::host_memory(). UNIMPLEMENTED where the plugin does not make such.
  Result<Buffer> uninitialized(const Shape& shape, const Device& device) const;

  /// Tells the devices of memory of the host that copies from them will go to, so that they can
  /// write there themselves, until what is returned is destroyed: before `memory` is freed.
  /// UNIMPLEMENTED where the plugin has nothing of that kind, as on the CPU.
  Result<std::shared_ptr<const void>> pin(std::span<std::byte> memory) const;

  /// Compiles a module in StableHLO, as text or bytecode.
  Result<Executable> compile(std::string_view module, const CompileOptions& options) const;
  /// Loads what Executable::serialize() gave, for the same plugin version and devices.
  Result<Executable> deserialize(std::string_view serialized, const CompileOptions& options) const;

 private:
  Client(Plugin plugin, std::shared_ptr<const ClientHandle> handle);
  Status list_devices();

  Plugin plugin_;
  std::shared_ptr<const ClientHandle> handle_;
  std::vector<Device> devices_;
};

}  // namespace tessera::pjrt
