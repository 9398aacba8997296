#pragma once

namespace tessera::pjrt {

/// Sets what CPU plugins built on XLA read from the environment when they make their first client,
/// unless the user has set it:
///   XLA_FLAGS=--xla_force_host_platform_device_count=N, for those that take no option for the
///   number of devices; PJRT_NPROC, the threads they run programs on: with fewer than about four a
///   device, programs whose devices wait for each other can take up all threads and hang.
/// Changes the environment of the process: call it before other threads are started.
void prepare_cpu_environment(int devices);

}  // namespace tessera::pjrt
