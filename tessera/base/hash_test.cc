#include "tessera/base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace tessera {
namespace {

uint64_t hash_text(std::string_view text) {
  return hash_bytes(std::as_bytes(std::span(text.data(), text.size())));
}

TEST(Hash, IsTheSameForEver) {
  EXPECT_EQ(hash_text(""), hash_text(""));
  EXPECT_EQ(hash_text("tessera"), 0xE8ECFBCA729E9B95);
}

TEST(Hash, DiffersWithEveryBitAndWithTheLength) {
  std::set<uint64_t> seen;
  std::vector<std::byte> bytes(37);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(seen.insert(hash_bytes(std::span(bytes).first(i))).second) << i << " zeros";
  }
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
    EXPECT_TRUE(seen.insert(hash_bytes(bytes)).second) << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1 << bit % 8);
  }
}

}  // namespace
}  // namespace tessera
