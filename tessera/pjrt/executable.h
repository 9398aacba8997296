#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/status.h"
#include "tessera/ir/shape.h"
#include "tessera/pjrt/buffer.h"
#include "tessera/pjrt/device.h"
#include "tessera/pjrt/event.h"

struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace tessera::pjrt {

/// Bytes a device that a compiled program needs, as the compiler planned them.
struct CompiledMemoryStats {
  int64_t code_bytes = 0;
  int64_t argument_bytes = 0;
  int64_t output_bytes = 0;
  /// Bytes of outputs that take over donated arguments.
  int64_t alias_bytes = 0;
  int64_t temp_bytes = 0;
  /// 0 where the plugin does not tell.
  int64_t peak_bytes = 0;
};

struct ExecuteOptions {
  /// Arguments that stay alive although the program would take them over.
  std::vector<int64_t> keep_arguments;
  /// Says which launch this is where several processes launch together; 0: nothing.
  int launch_id = 0;
};

/// What one execution gave, perhaps still being computed.
struct ExecuteResult {
  /// [device][output], devices in the order of Executable::devices().
  std::vector<std::vector<Buffer>> outputs;
  /// One a device: the program has ended there.
  std::vector<Event> done;
};

/// A compiled program, loaded on its devices. Move-only; keeps its client alive. Safe to use from
/// several threads, except for moving and destroying.
class Executable {
 public:
  /// Takes ownership of `loaded`.
  static Result<Executable> adopt(std::shared_ptr<const ClientHandle> client,
                                  PJRT_LoadedExecutable* loaded);
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&& other) noexcept;
  ~Executable();

  /// Starts the program on all its addressable devices and returns without waiting for it.
  /// `arguments` is [device][argument], devices in the order of devices(). Arguments that the
  /// program marks with tf.aliasing_output are taken over: they are deleted. An error that only
  /// shows while the program runs is carried by the outputs and the `done` events.
  Result<ExecuteResult> execute(std::span<const std::vector<const Buffer*>> arguments,
                                const ExecuteOptions& options = {}) const;

  /// The devices of this process that the program runs on, in the order of execute()'s lists.
  std::span<const Device> devices() const { return devices_; }
  size_t num_outputs() const { return num_outputs_; }
  /// Shapes of the outputs on one device.
  Result<std::vector<Shape>> output_shapes() const;
  std::string name() const;

  /// UNIMPLEMENTED where the plugin does not tell; so for all below.
  Result<CompiledMemoryStats> memory_stats() const;
  /// "flops", "bytes accessed" and the like, for one device.
  Result<std::map<std::string, double>> cost_analysis() const;
  /// The same for equal programs, options and compilers.
  Result<std::string> fingerprint() const;
  /// For Client::deserialize of the same plugin version.
  Result<std::string> serialize() const;
  /// The program after partitioning and optimization, in the plugin's own format, which `format`
  /// tells.
  struct Program {
    std::string format;
    std::string code;
  };
  Result<Program> optimized_program() const;

 private:
  Executable(std::shared_ptr<const ClientHandle> client, PJRT_LoadedExecutable* loaded);
  Status describe();

  std::shared_ptr<const ClientHandle> client_;
  PJRT_LoadedExecutable* loaded_ = nullptr;
  PJRT_Executable* executable_ = nullptr;
  std::vector<Device> devices_;
  size_t num_outputs_ = 0;
};

}  // namespace tessera::pjrt
