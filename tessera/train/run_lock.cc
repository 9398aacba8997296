#include "tessera/train/run_lock.h"

#include <unistd.h>

#include "tessera/base/filesystem.h"

namespace tessera {
namespace {

constexpr char kFile[] = "run.lock";

}  // namespace

bool RunLock::is_in(const std::string& directory) {
  return access(join_path(directory, kFile).c_str(), F_OK) == 0;
}

Result<RunLock> RunLock::take(const std::string& directory) {
  auto lock = FolderLock::take(directory, kFile);
  if (lock.ok()) return RunLock(*std::move(lock));
  if (!absl::IsAlreadyExists(lock.status())) return lock.status();
  return failed_precondition(directory, " is in use: ", lock.status().message(),
                             " trains into it; wait for its end, or choose another "
                             "output_directory");
}

}  // namespace tessera
