#include "tessera/base/large_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <memory>

namespace tessera {

void prefer_large_pages(std::span<std::byte> memory) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kLeast = 2 << 20;
  if (memory.size() < kLeast) return;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* begin = memory.data();
  size_t room = memory.size();
  if (std::align(page, page, begin, room) == nullptr) return;
  (void)::madvise(begin, room - room % page, MADV_HUGEPAGE);
#else
  (void)memory;
#endif
}

}  // namespace tessera
