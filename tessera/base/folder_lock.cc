#include "tessera/base/folder_lock.h"

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

}  // namespace

Result<FolderLock> FolderLock::take(const std::string& folder, const std::string& name) {
  const std::string path = join_path(folder, name);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int error = errno;
    return Status(absl::ErrnoToStatusCode(error),
                  str_cat(path, ": cannot be opened: ", std::strerror(error)));
  }
  FolderLock lock(descriptor);
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return lock;
    return absl::AlreadyExistsError(holder_text(descriptor));
  }
  const std::string holder = std::to_string(getpid());
  // Where this fails, as on a full disk, only a message is the poorer.
  (void)!ftruncate(descriptor, 0);
  (void)!pwrite(descriptor, holder.data(), holder.size(), 0);
  return lock;
}

std::optional<bool> FolderLock::is_held(const std::string& folder, const std::string& name) {
  const int descriptor = open(join_path(folder, name).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const FolderLock lock(descriptor);
  if (flock(descriptor, LOCK_SH | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK ? std::optional<bool>(true) : std::nullopt;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace tessera
