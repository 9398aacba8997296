#include "tessera/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace tessera {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed

/// tables[k][b]: what byte b does to the register when k zero bytes follow it.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables kTables = [] {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

uint64_t load_word(const std::byte* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

uint32_t step_byte(uint32_t crc, std::byte byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint32_t>(byte)) & 0xFF];
}

uint32_t step_word(uint32_t crc, uint64_t word) {
  word ^= crc;
  crc = 0;
  for (int k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  return crc;
}

#if defined(__x86_64__)

/// The instruction takes three cycles but can start one each cycle: three streams side by side hide
/// that. kLane bytes go into each; joining them needs the register "moved past" kLane or 2 kLane
/// zero bytes, which is linear in its bits.
constexpr size_t kLane = 1024;

/// shift[j][b]: the register b << 8j after `zeros` zero bytes.
using Shift = std::array<std::array<uint32_t, 256>, 4>;

constexpr uint32_t past_zeros(uint32_t crc, size_t zeros) {
  for (size_t i = 0; i < zeros; ++i) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
  return crc;
}

Shift make_shift(size_t zeros) {
  Shift shift{};
  for (size_t bit = 0; bit < 32; ++bit) {  // from the images of single bits, by linearity
    const uint32_t image = past_zeros(1U << bit, zeros);
    const size_t j = bit / 8, mask = size_t{1} << (bit % 8);
    for (size_t byte = 0; byte < 256; ++byte) {
      if (byte & mask) shift[j][byte] ^= image;
    }
  }
  return shift;
}

uint32_t apply(const Shift& shift, uint32_t crc) {
  return shift[0][crc & 0xFF] ^ shift[1][(crc >> 8) & 0xFF] ^ shift[2][(crc >> 16) & 0xFF] ^
         shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(std::span<const std::byte> bytes,
                                                        uint32_t start) {
  static const Shift past_one = make_shift(kLane), past_two = make_shift(2 * kLane);
  uint64_t crc = ~start;
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 3 * kLane; left -= 3 * kLane, p += 3 * kLane) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLane; i += 8) {
      crc = _mm_crc32_u64(crc, load_word(p + i));
      second = _mm_crc32_u64(second, load_word(p + kLane + i));
      third = _mm_crc32_u64(third, load_word(p + 2 * kLane + i));
    }
    crc = apply(past_two, static_cast<uint32_t>(crc)) ^
          apply(past_one, static_cast<uint32_t>(second)) ^ static_cast<uint32_t>(third);
  }
  for (; left >= 8; left -= 8, p += 8) crc = _mm_crc32_u64(crc, load_word(p));
  for (; left > 0; --left, ++p) {
    crc = _mm_crc32_u8(static_cast<uint32_t>(crc), static_cast<uint8_t>(*p));
  }
  return ~static_cast<uint32_t>(crc);
}

#endif

}  // namespace

uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc) {
  crc = ~crc;
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) crc = step_word(crc, load_word(p));
  for (; left > 0; --left, ++p) crc = step_byte(crc, *p);
  return ~crc;
}

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42(bytes, crc);
#endif
  return crc32c_portable(bytes, crc);
}

}  // namespace tessera
