#include "tessera/data/permutation.h"

#include <algorithm>
#include <bit>

#include "tessera/base/status.h"

namespace tessera {
namespace {

// A smaller domain would allow too few different permutations.
constexpr int kLeastBits = 6;

constexpr uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

KeyedPermutation::KeyedPermutation(uint64_t size, uint64_t key) : size_(size) {
  CHECK(size >= 1 && size <= uint64_t{1} << 62);
  const int bits = std::max<int>(kLeastBits, std::bit_width(size - 1));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  for (int i = 0; i < kRounds; ++i) keys_[i] = key = mix64(key + i);
}

// Even rounds change the low part by the high one, odd rounds the other way round; so the parts may
// have different widths, and each round undoes itself.
uint64_t KeyedPermutation::encrypt(uint64_t x) const {
  uint64_t low = x & mask(low_bits_);
  uint64_t high = x >> low_bits_;
  for (int i = 0; i < kRounds; i += 2) {
    low ^= round(i, high) & mask(low_bits_);
    high ^= round(i + 1, low) & mask(high_bits_);
  }
  return high << low_bits_ | low;
}

uint64_t KeyedPermutation::decrypt(uint64_t x) const {
  uint64_t low = x & mask(low_bits_);
  uint64_t high = x >> low_bits_;
  for (int i = kRounds - 2; i >= 0; i -= 2) {
    high ^= round(i + 1, low) & mask(high_bits_);
    low ^= round(i, high) & mask(low_bits_);
  }
  return high << low_bits_ | low;
}

uint64_t KeyedPermutation::operator()(uint64_t index) const {
  CHECK(index < size_);
  do index = encrypt(index);
  while (index >= size_);
  return index;
}

uint64_t KeyedPermutation::inverse(uint64_t element) const {
  CHECK(element < size_);
  do element = decrypt(element);
  while (element >= size_);
  return element;
}

}  // namespace tessera
