#include "tessera/base/streaming_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera {
namespace {

TEST(StreamingCopy, CopiesAnyLengthFromAndToAnyAlignmentAndNothingBeside) {
  std::vector<std::byte> from(600), to(700);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 37 + 1);
  for (size_t source = 0; source < 64; source += 7) {
    for (size_t target = 0; target < 66; ++target) {
      for (const size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 300, 513}) {
        std::ranges::fill(to, std::byte{0xEE});
        streaming_copy({from.data() + source, bytes}, to.data() + target);
        for (size_t i = 0; i < to.size(); ++i) {
          const bool is_inside = i >= target && i < target + bytes;
          ASSERT_EQ(to[i], is_inside ? from[source + i - target] : std::byte{0xEE})
              << source << " " << target << " " << bytes << " " << i;
        }
      }
    }
  }
}

TEST(StreamingCopy, CopiesMoreThanARunOfPages) {
  std::vector<std::byte> from(200'000), to(200'100);
  uint32_t state = 1;
  for (std::byte& byte : from) byte = static_cast<std::byte>((state = state * 1664525 + 7) >> 24);
  for (const size_t bytes : {16383, 16384, 16385, 40'000, 65'536, 131'071, 199'990}) {
    for (const size_t offset : {0, 3, 64}) {
      std::ranges::fill(to, std::byte{0xEE});
      streaming_copy({from.data() + 7, bytes}, to.data() + offset);
      EXPECT_TRUE(std::equal(from.begin() + 7, from.begin() + 7 + static_cast<int64_t>(bytes),
                             to.begin() + static_cast<int64_t>(offset)));
      EXPECT_EQ(to[offset + bytes], std::byte{0xEE});
      EXPECT_TRUE(offset == 0 || to[offset - 1] == std::byte{0xEE});
    }
  }
}

}  // namespace
}  // namespace tessera
