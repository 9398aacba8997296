#include "tessera/base/hash.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): each bit of the input changes about half
// of those of the output.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t hash_bytes(std::span<const std::byte> bytes) {
  uint64_t hash = mix(bytes.size() + 1);
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    hash = mix(hash ^ word) + 0x9E3779B97F4A7C15;
  }
  return mix(hash);
}

}  // namespace tessera
