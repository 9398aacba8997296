#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "tessera/base/status.h"

/// For tests only.
namespace tessera {

/// Whether limit_threads() can be called: sanitizers take all of the address space for themselves.
inline bool can_limit_threads() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

/// From here on this process can start but a few threads: it has no memory left for their stacks.
inline void limit_threads() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (int64_t{200} << 20));
  const rlimit limit = {bytes, bytes};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

}  // namespace tessera
