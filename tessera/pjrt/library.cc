#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <set>

#include "tessera/pjrt/library_internal.h"

namespace tessera::pjrt {
namespace {

void for_each_library(const std::function<void(const dl_phdr_info&)>& visit) {
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        (*static_cast<const std::function<void(const dl_phdr_info&)>*>(data))(*info);
        return 0;
      },
      const_cast<void*>(static_cast<const void*>(&visit)));
}

// Only segments that the file maps read-only: their pages are the file's, so none is lost.
void release_read_only_pages(const dl_phdr_info& info) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t start = (info.dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const uintptr_t end = (info.dlpi_addr + segment.p_vaddr + segment.p_memsz) / page * page;
    if (end > start) madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
  }
}

}  // namespace

void* open_library(const std::string& path, int flags) {
  std::set<uintptr_t> before;
  for_each_library([&](const dl_phdr_info& info) { before.insert(info.dlpi_addr); });
  void* library = dlopen(path.c_str(), flags);
  if (library == nullptr) return nullptr;
  for_each_library([&](const dl_phdr_info& info) {
    if (!before.contains(info.dlpi_addr)) release_read_only_pages(info);
  });
  return library;
}

}  // namespace tessera::pjrt
