#pragma once

#include <cstddef>
#include <span>

namespace tessera {

/// Copies `from` to `to`, past the processor's cache where it can: for more than the cache holds,
/// that is not read again at once. Saves reading what is overwritten, a third of the traffic.
void streaming_copy(std::span<const std::byte> from, std::byte* to);

}  // namespace tessera
