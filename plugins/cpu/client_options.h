#pragma once

#include <optional>
#include <string>

#include "plugins/cpu/internal.h"

namespace tessera::pjrt_cpu {

/// What PJRT_Client_Create takes; the README's table says the same.
struct ClientOptions {
  int64_t cpu_device_count = 1;
  int64_t memory_limit_bytes = 0;  // of the pool; 0: none
  std::string platform_name = "cpu";
  int64_t node_id = 0;
  int64_t num_nodes = 1;
  std::optional<int64_t> slice_index;  // also called partition_index
  std::string collectives_interface, collectives_address;
  std::optional<int64_t> client_number;  // none: how many this process has made
  int64_t topology_timeout_ms = 300'000;
  int64_t collective_timeout_ms = 600'000;
};

absl::StatusOr<ClientOptions> read_options(const PJRT_Client_Create_Args& args);

}  // namespace tessera::pjrt_cpu
