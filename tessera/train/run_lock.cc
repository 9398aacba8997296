#include "tessera/train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tessera/base/filesystem.h"

namespace tessera {
namespace {

// What the holder wrote: its number, for a message only.
std::string holder_text(int descriptor) {
  char digits[32];
  const ssize_t count = pread(descriptor, digits, sizeof digits, 0);
  if (count <= 0) return "another process";
  return str_cat("process ", std::string_view(digits, static_cast<size_t>(count)));
}

std::string lock_path(const std::string& directory) { return join_path(directory, "run.lock"); }

}  // namespace

bool RunLock::is_in(const std::string& directory) {
  return access(lock_path(directory).c_str(), F_OK) == 0;
}

Result<RunLock> RunLock::take(const std::string& directory) {
  const std::string path = lock_path(directory);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int error = errno;
    return Status(absl::ErrnoToStatusCode(error),
                  str_cat(path, ": cannot be opened: ", std::strerror(error)));
  }
  RunLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return lock;
    return failed_precondition(directory, " is in use: ", holder_text(descriptor),
                               " trains into it; wait for its end, or choose another "
                               "output_directory");
  }
  const std::string holder = std::to_string(getpid());
  // Where this fails, as on a full disk, only a message is the poorer.
  (void)!ftruncate(descriptor, 0);
  (void)!pwrite(descriptor, holder.data(), holder.size(), 0);
  return lock;
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock::~RunLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tessera
