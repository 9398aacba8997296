#include "tessera/base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace tessera {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::byte> pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

TEST(Crc32c, GivesTheValuesOfTheStandard) {
  // RFC 3720, appendix B.4, and the check value that catalogues list.
  const std::vector<std::byte> zeros(32), ones(32, std::byte{0xFF});
  std::vector<std::byte> up(32), down(32);
  for (size_t i = 0; i < 32; ++i) up[i] = down[31 - i] = static_cast<std::byte>(i);
  for (const auto function : {crc32c, crc32c_portable}) {
    EXPECT_EQ(function(bytes_of("123456789"), 0), 0xE3069283U);
    EXPECT_EQ(function(zeros, 0), 0x8A9136AAU);
    EXPECT_EQ(function(ones, 0), 0x62A8AB43U);
    EXPECT_EQ(function(up, 0), 0x46DD794EU);
    EXPECT_EQ(function(down, 0), 0x113FDB5CU);
    EXPECT_EQ(function({}, 0), 0U);
  }
}

TEST(Crc32c, InstructionAndTablesAgreeAtEveryLengthAndOffset) {
  const std::vector<std::byte> bytes = pattern(20000);
  for (size_t size = 0; size < 70; ++size) {
    for (size_t offset = 0; offset < 9; ++offset) {
      const auto part = std::span(bytes).subspan(offset, size);
      ASSERT_EQ(crc32c(part), crc32c_portable(part)) << size << " at " << offset;
    }
  }
  for (const size_t size : {3071, 3072, 3073, 6144, 6151, 9999, 20000}) {
    const auto part = std::span(bytes).first(size);
    ASSERT_EQ(crc32c(part), crc32c_portable(part)) << size;
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  const std::vector<std::byte> bytes = pattern(7000);
  const std::span<const std::byte> all = bytes;
  for (const size_t cut : {0, 1, 8, 3000, 3072, 6999, 7000}) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all)) << cut;
    EXPECT_EQ(crc32c_portable(all.subspan(cut), crc32c_portable(all.first(cut))), crc32c(all));
  }
}

}  // namespace
}  // namespace tessera
