// Loaded into the program before the C library (LD_PRELOAD): a disk that hangs. While a file
// "hang-N" is in the working folder no write of process N's main thread comes to its end; while
// there is a "slow-N", each takes a quarter of a second.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace {

bool is_there(const char* what) {
  const char* process = std::getenv("TESSERA_PROCESS_ID");
  const std::string name = std::string(what) + "-" + (process == nullptr ? "0" : process);
  return access(name.c_str(), F_OK) == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int file, const void* data,
                                                                size_t size) {
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  if (syscall(SYS_gettid) == getpid()) {
    if (is_there("slow")) usleep(250'000);
    while (is_there("hang")) usleep(50'000);
  }
  return real(file, data, size);
}
