// What a client that spans processes has beyond one that does not.
#pragma once

#include "plugins/cpu/client_options.h"
#include "plugins/cpu/collectives/exchange.h"
#include "plugins/cpu/collectives/launches.h"

namespace tessera::pjrt_cpu {

struct CrossProcess {
  CrossProcess() = default;
  ~CrossProcess() {
    if (launches != nullptr) launches->stop();
  }
  std::unique_ptr<KeyValues> callbacks;
  std::unique_ptr<KeyValues> store;  // the same, under a prefix of this client's
  std::vector<ProcessDescription> processes;
  std::shared_ptr<Launches> launches;
};

/// The status of what `body()` throws; OK when it returns.
template <typename Body>
absl::Status catch_failure(const Body& body) {
  try {
    body();
    return absl::OkStatus();
  } catch (const Failure& failure) {
    return absl::Status(static_cast<absl::StatusCode>(failure.code()), failure.what());
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

/// Meets the other processes. `threads`: of each of XLA's pools. Errors: see exchange(); missing
/// callbacks; no address for the connections.
absl::StatusOr<std::shared_ptr<CrossProcess>> connect_processes(const PJRT_Client_Create_Args& args,
                                                                const ClientOptions& options,
                                                                std::shared_ptr<MemoryPool> pool,
                                                                int64_t threads);

/// XLA's collectives over `launches`.
std::shared_ptr<xla::cpu::CpuCollectives> make_collectives(std::shared_ptr<Launches> launches);

/// Adds the slice's number to what a device says of itself, where its process gave one.
void add_slice(const ProcessDescription& process, PJRT_DeviceDescription* device);

}  // namespace tessera::pjrt_cpu
