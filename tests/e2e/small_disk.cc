#include "tests/e2e/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::e2e {
namespace {

void write_text(const char* path, const std::string& text) { std::ofstream(path) << text; }

// Mounts of this process's own. Root may have them; others where the system lets them have a name
// space of users too, in which they stay who they are.
bool enter_own_mounts() {
  static const bool entered = [] {
    const std::string user = std::to_string(getuid()), group = std::to_string(getgid());
    if (unshare(CLONE_NEWNS) != 0) {
      if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
      write_text("/proc/self/setgroups", "deny");
      write_text("/proc/self/uid_map", user + " " + user + " 1");
      write_text("/proc/self/gid_map", group + " " + group + " 1");
    }
    return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }();
  return entered;
}

}  // namespace

std::unique_ptr<SmallDisk> SmallDisk::mount_at(const std::string& folder, int64_t bytes) {
  std::filesystem::create_directories(folder);
  if (!enter_own_mounts()) return nullptr;
  const std::string options = "size=" + std::to_string(bytes);
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, options.c_str()) != 0) return nullptr;
  return std::unique_ptr<SmallDisk>(new SmallDisk(folder));
}

SmallDisk::~SmallDisk() { umount2(folder_.c_str(), MNT_DETACH); }

void SmallDisk::fill() const {
  const int file = open(filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  // What is freed while this writes is taken as well; then single pages.
  for (const size_t size : {size_t{1} << 20, size_t{4096}, size_t{1}}) {
    const std::string zeros(size, '\0');
    while (write(file, zeros.data(), zeros.size()) > 0) continue;
  }
  close(file);
}

void SmallDisk::empty() const { unlink(filler().c_str()); }

}  // namespace tessera::e2e
