#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

/// A 64-bit hash of the bytes, the same in every process and on every machine: for telling values
/// apart that nobody chose to be alike. Not for security.
uint64_t hash_bytes(std::span<const std::byte> bytes);

}  // namespace tessera
