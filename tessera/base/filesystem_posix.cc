#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "tessera/base/filesystem.h"

namespace tessera {
namespace {

absl::StatusCode code_of(int error) {
  switch (error) {
    case ENOENT:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case EEXIST:
    case ENOTEMPTY:
      return absl::StatusCode::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENOTDIR:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

Status posix_error(const std::string& path, std::string_view doing, int error) {
  return Status(code_of(error), str_cat(path, ": cannot ", doing, ": ", std::strerror(error)));
}

/// Free bytes where a file descriptor's disk is concerned; -1 when unknown.
int64_t free_of(int fd) {
  struct statvfs disk {};
  return ::fstatvfs(fd, &disk) == 0 ? static_cast<int64_t>(disk.f_bavail * disk.f_frsize) : -1;
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(-1); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(std::string path, int fd, int64_t size_bytes)
      : path_(std::move(path)), fd_(fd), size_bytes_(size_bytes) {}

  int64_t size_bytes() const override { return size_bytes_; }

  Status read_at(int64_t offset, std::span<std::byte> out) const override {
    const size_t wanted = out.size();
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return posix_error(path_, "read", errno);
      if (got == 0) {
        return absl::OutOfRangeError(str_cat(path_, ": ends at byte ", offset, ", ", out.size(),
                                             " short of the ", wanted, " wanted"));
      }
      offset += got;
      out = out.subspan(static_cast<size_t>(got));
    }
    return absl::OkStatus();
  }

 private:
  std::string path_;
  Descriptor fd_;
  int64_t size_bytes_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  Status append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return write_error(errno, bytes.size());
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return absl::OkStatus();
  }

  Status sync() override {
    if (::fdatasync(fd_.get()) == 0) return absl::OkStatus();
    return write_error(errno, 0);
  }

  Status close() override {
    // After close() the descriptor is gone even when it reports an error.
    if (::close(fd_.release()) == 0 || errno == EINTR) return absl::OkStatus();
    return write_error(errno, 0);
  }

 private:
  Status write_error(int error, size_t left_bytes) const {
    Status status = posix_error(path_, "write", error);
    if (!absl::IsResourceExhausted(status) || fd_.get() < 0) return status;
    return absl::ResourceExhaustedError(str_cat(status.message(), " (", left_bytes,
                                                " bytes to write, ", free_of(fd_.get()), " free)"));
  }

  std::string path_;
  Descriptor fd_;
};

Result<std::unique_ptr<WritableFile>> open_to_write(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (fd < 0) return posix_error(path, "create", errno);
  return std::make_unique<PosixWritableFile>(path, fd);
}

FileInfo info_of(std::string name, const struct stat& file) {
  const bool is_directory = S_ISDIR(file.st_mode);
  return {std::move(name), is_directory, is_directory ? 0 : static_cast<int64_t>(file.st_size)};
}

}  // namespace

Result<std::unique_ptr<ReadableFile>> PosixFileSystem::open_file(const std::string& path) {
  // Without O_NONBLOCK to open a pipe waits for who writes into it, maybe for ever.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return posix_error(path, "open", errno);
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0) return posix_error(path, "open", errno);
  if (S_ISDIR(file.st_mode)) return posix_error(path, "open", EISDIR);
  if (!S_ISREG(file.st_mode)) {
    return failed_precondition(path, ": cannot open: is a pipe or a device, and what is read here ",
                               "must be a file: write it into one");
  }
  return std::make_unique<PosixReadableFile>(path, fd.release(), file.st_size);
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::create_file(const std::string& path) {
  return open_to_write(path, O_TRUNC);
}

Result<std::unique_ptr<WritableFile>> PosixFileSystem::append_file(const std::string& path) {
  return open_to_write(path, O_APPEND);
}

Status PosixFileSystem::create_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return absl::OkStatus();
  const int error = errno;
  struct stat file {};
  if (error == EEXIST && ::stat(path.c_str(), &file) == 0 && S_ISDIR(file.st_mode)) {
    return absl::OkStatus();
  }
  return posix_error(path, "create directory", error);
}

Status PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return posix_error(from, str_cat("rename to ", to), errno);
}

Status PosixFileSystem::remove(const std::string& path) {
  if (std::remove(path.c_str()) == 0) return absl::OkStatus();
  return posix_error(path, "remove", errno);
}

Status PosixFileSystem::sync_dir(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return posix_error(path, "open", errno);
  // Some file systems have nothing to sync in a directory, and say EINVAL.
  if (::fsync(fd.get()) == 0 || errno == EINVAL) return absl::OkStatus();
  return posix_error(path, "sync", errno);
}

Result<std::vector<FileInfo>> PosixFileSystem::list(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return posix_error(path, "list", errno);
  std::vector<FileInfo> entries;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat file {};
    if (::fstatat(::dirfd(directory.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;  // removed by another since it was listed
    }
    entries.push_back(info_of(std::string(name), file));
  }
  std::sort(entries.begin(), entries.end(),
            [](const FileInfo& a, const FileInfo& b) { return a.name < b.name; });
  return entries;
}

Result<FileInfo> PosixFileSystem::stat(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return posix_error(path, "find", errno);
  return info_of(base_name(path), file);
}

Result<int64_t> PosixFileSystem::free_bytes(const std::string& path) {
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) != 0) return posix_error(path, "ask for free space", errno);
  return static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
}

}  // namespace tessera
