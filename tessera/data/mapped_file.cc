#include "tessera/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tessera {
namespace {

Status system_error(const std::string& path, const char* action) {
  return absl::ErrnoToStatus(errno, str_cat(action, " ", path));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error(path, "opening");
  struct stat info = {};
  const bool known = fstat(file, &info) == 0;
  const size_t size = info.st_size;
  void* address = nullptr;
  if (known && size > 0) address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  const Status error = system_error(path, "mapping");
  close(file);
  if (!known || address == MAP_FAILED) return error;
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tessera
