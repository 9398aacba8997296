#pragma once

#include <cstdint>

namespace tessera {

/// A fixed, well-mixing bijection of 64-bit integers (the finalizer of SplitMix64, Steele et al.
/// 2014).
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// A permutation of [0, size) chosen by a key, computed an element at a time: a shuffle without a
/// buffer. Expected constant time and no memory. Stateless: any thread may call anything.
///
/// It is a Feistel network over the least power of two that holds `size` (at least 64), whose
/// results outside [0, size) are permuted again until they fall inside ("cycle walking", Black and
/// Rogaway 2002). Checkpointed positions mean something only as long as this function stays as it
/// is: the test holds golden values.
class KeyedPermutation {
 public:
  /// `size` in [1, 2^62].
  KeyedPermutation(uint64_t size, uint64_t key);

  uint64_t size() const { return size_; }
  /// The element at `index`; both are in [0, size).
  uint64_t operator()(uint64_t index) const;
  /// The index at which `element` stands.
  uint64_t inverse(uint64_t element) const;

 private:
  static constexpr int kRounds = 8;

  uint64_t round(int i, uint64_t half) const { return mix64(half ^ keys_[i]); }
  uint64_t encrypt(uint64_t x) const;
  uint64_t decrypt(uint64_t x) const;

  uint64_t size_;
  int low_bits_;  // of the two halves, which swap places every round
  int high_bits_;
  uint64_t keys_[kRounds];
};

}  // namespace tessera
