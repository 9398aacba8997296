#pragma once

namespace tessera::pjrt {

/// Sets what CPU plugins built on XLA read from the environment when they make their first client:
///   XLA_FLAGS=--xla_force_host_platform_device_count=N, unless the user has set it, for plugins
///   that take no option for the number of devices; PJRT_NPROC, the threads they run programs on,
///   raised to four a device: with fewer, programs whose devices wait for each other may take up
///   all threads and hang. Not raised where programs are only compiled, since each thread costs
///   memory.
/// Changes the environment of the process: call it before other threads are started.
void prepare_cpu_environment(int devices, bool compile_only = false);

}  // namespace tessera::pjrt
