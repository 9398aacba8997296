#include "tessera/base/streaming_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace tessera
