#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera::pjrt {

/// How a program is compiled: over which devices, and by which partitioner.
struct CompileOptions {
  /// Global ids of the devices that run the program, in the order of the mesh; one partition each.
  std::vector<int64_t> device_ids = {0};
  /// Shardy reads the sdy.* attributes; otherwise GSPMD reads mhlo.sharding.
  bool use_shardy = true;
  /// Whether the partitioner may choose the shardings of results that the program leaves open.
  bool choose_result_shardings = false;
  /// XLA debug options for this program alone: {"xla_cpu_enable_fast_math", true}.
  struct Override {
    std::string name;
    std::variant<std::string, bool, int64_t, double> value;
  };
  std::vector<Override> overrides;
};

/// The CompileOptionsProto that PJRT_Client_Compile takes, serialized. Field numbers are those of
/// xla/pjrt/proto/compile_options.proto and xla/xla_data.proto.
std::string encode(const CompileOptions& options);

}  // namespace tessera::pjrt
