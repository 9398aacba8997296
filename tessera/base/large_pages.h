#pragma once

#include <cstddef>
#include <span>

namespace tessera {

/// Asks the system for large pages for memory that is about to be written for the first time:
/// there are fewer of them to wait for. A hint, without effect on small memory and on systems that
/// have none.
void prefer_large_pages(std::span<std::byte> memory);

}  // namespace tessera
