#include "tessera/pjrt/cpu_environment.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "tessera/base/strings.h"

namespace tessera::pjrt {

void prepare_cpu_environment(int devices, bool compile_only) {
  constexpr const char* kFlag = "--xla_force_host_platform_device_count=";
  const char* old_flags = std::getenv("XLA_FLAGS");
  const std::string flags = old_flags == nullptr ? "" : old_flags;
  if (flags.find(kFlag) == std::string::npos) {
    setenv("XLA_FLAGS", str_cat(flags, flags.empty() ? "" : " ", kFlag, devices).c_str(), 1);
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int threads = compile_only ? cores : std::max(cores, 4 * devices);
  const char* old_threads = std::getenv("PJRT_NPROC");
  if (old_threads == nullptr || std::atoi(old_threads) < threads) {
    setenv("PJRT_NPROC", str_cat(threads).c_str(), 1);
  }
}

}  // namespace tessera::pjrt
