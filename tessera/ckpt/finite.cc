#include "tessera/ckpt/finite.h"

#include <cstring>

namespace tessera {
namespace {

/// Whether all bits of `exponent` are set in an element. Looks at blocks first, which compilers
/// turn into vector instructions.
template <typename Bits>
std::optional<int64_t> find(std::span<const std::byte> bytes, Bits exponent) {
  constexpr size_t kBlock = 1024;
  const size_t count = bytes.size() / sizeof(Bits);
  const auto at = [&](size_t i) {
    Bits value;
    std::memcpy(&value, bytes.data() + i * sizeof(Bits), sizeof(Bits));
    return value;
  };
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = begin + kBlock < count ? begin + kBlock : count;
    bool found = false;
    for (size_t i = begin; i < end; ++i) found |= (at(i) & exponent) == exponent;
    if (!found) continue;
    for (size_t i = begin; i < end; ++i) {
      if ((at(i) & exponent) == exponent) return static_cast<int64_t>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> first_not_finite(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kF64:
      return find<uint64_t>(bytes, 0x7FF0'0000'0000'0000);
    case DType::kF32:
      return find<uint32_t>(bytes, 0x7F80'0000);
    case DType::kF16:
      return find<uint16_t>(bytes, 0x7C00);
    case DType::kBF16:
      return find<uint16_t>(bytes, 0x7F80);
    case DType::kF8E5M2:
      return find<uint8_t>(bytes, 0x7C);
    case DType::kF8E4M3FN:
      return find<uint8_t>(bytes, 0x7F);  // no infinity, and one NaN of each sign
    default:
      return std::nullopt;
  }
}

}  // namespace tessera
