#include "tessera/data/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

Status system_error(const std::string& path, const char* action) {
  return absl::ErrnoToStatus(errno, str_cat(action, " ", path));
}

// What is mapped now. A handler gets no argument of ours, and may neither lock nor allocate.
struct Mapped {
  std::atomic<bool> is_taken{false};
  std::atomic<const std::byte*> begin{nullptr};  // set last
  size_t size = 0;
  std::array<char, 1024> path = {};
};
std::array<Mapped, 256> mapped_files;  // of more than so many the last have no message

void write_text(const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); }

// Where a mapped file has no bytes any more, or its disk none to give, there is nothing to go on
// with, and nobody to give an error to: what is left is to say so.
void on_bus_error(int number, siginfo_t* info, void*) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  for (const Mapped& file : mapped_files) {
    const std::byte* begin = file.begin.load(std::memory_order_acquire);
    if (begin == nullptr || address < begin || address >= begin + file.size) continue;
    write_text("\nerror: ");
    write_text(file.path.data());
    write_text(" was cut short, or its disk fails, while it is read: copy or build it again; ");
    write_text("a run then goes on from its last checkpoint\n");
    _exit(1);
  }
  signal(number, SIG_DFL);  // and it strikes once more
}

void watch(const std::string& path, std::span<const std::byte> bytes) {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, nullptr);
  });
  for (Mapped& file : mapped_files) {
    if (file.is_taken.exchange(true)) continue;
    file.size = bytes.size();
    file.path.fill('\0');
    path.copy(file.path.data(), file.path.size() - 1);
    file.begin.store(bytes.data(), std::memory_order_release);
    return;
  }
}

void forget(const std::byte* begin) {
  for (Mapped& file : mapped_files) {
    if (file.begin.load(std::memory_order_relaxed) != begin) continue;
    file.begin.store(nullptr);
    file.is_taken.store(false);
    return;
  }
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait
  if (file < 0) return system_error(path, "opening");
  struct stat info = {};
  const bool known = fstat(file, &info) == 0;
  if (known && !S_ISREG(info.st_mode)) {
    close(file);
    return failed_precondition(path, ": is not a file");
  }
  const size_t size = info.st_size;
  void* address = nullptr;
  if (known && size > 0) address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  const Status error = system_error(path, "mapping");
  close(file);
  if (!known || address == MAP_FAILED) return error;
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(address), size);
  if (size > 0) watch(path, bytes);
  return MappedFile(bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  forget(bytes_.data());  // first: the next one may get this address
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace tessera
