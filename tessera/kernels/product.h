#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/ir/dtype.h"

/// Products of matrices by oneDNN, on one thread; who calls cuts the work.
namespace tessera::kernels {

/// c[m,n] = sum over k of a[m,k] b[k,n], or, with `accumulate`, that added to c, which is f32 then.
/// Strides are in elements. Of a and of b one stride must be 1 (or the dim it belongs to of size
/// 1); of c that of n is. Types: a and b the same, bf16 or f32; c f32, or bf16 with bf16 operands.
/// Sums are in f32. Sizes must be above zero.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_m = 0, a_k = 0;
  int64_t b_k = 0, b_n = 0;
  int64_t c_m = 0;
  DType operands = DType::kF32;
  DType result = DType::kF32;
  bool accumulate = false;

  auto operator<=>(const Product&) const = default;
};

/// Whether this machine has a fast product of these types.
bool can_multiply(DType operands, DType result);

/// The code of a product: b is brought into the order that the processor takes it in, once, and
/// then rows are computed. Where a processor multiplies f32 faster than bf16, bf16 is widened on
/// the way. Safe to call from several threads. Throws std::exception when oneDNN fails.
class Multiplier {
 public:
  /// Compiled once for each product in the process.
  static const Multiplier& of(const Product& product);

  /// What pack() writes, into memory aligned to 64 bytes.
  size_t packed_bytes() const;
  void pack(const void* b, void* packed) const;
  /// Rows are computed in blocks of this many, the last one smaller.
  int64_t block() const;
  int64_t blocks() const;
  void rows(int64_t block, const void* a, const void* packed, void* c) const;

  struct Code;
  explicit Multiplier(std::unique_ptr<const Code> code);
  ~Multiplier();

 private:
  std::unique_ptr<const Code> code_;
};

/// All of it, on the calling thread.
void multiply(const Product& product, const void* a, const void* b, void* c);

/// Memory of the calling thread, aligned to 4096 bytes, that stays as it is until the thread asks
/// for the same `place` again.
enum class ScratchPlace { kPacked, kLibrary, kRows, kResult, kCaller };
void* scratch(ScratchPlace place, size_t bytes);
template <typename T>
T* scratch_of(ScratchPlace place, int64_t elements) {
  return static_cast<T*>(scratch(place, static_cast<size_t>(elements) * sizeof(T)));
}

}  // namespace tessera::kernels
