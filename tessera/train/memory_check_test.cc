#include "tessera/train/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kGiB = 1 << 30;

TEST(CheckMemory, TakesWhatFits) {
  EXPECT_TRUE(check_memory({.argument_bytes = 3 * kGiB,
                            .temp_bytes = kGiB,
                            .devices = 2,
                            .available_bytes = 8 * kGiB})
                  .ok());
}

TEST(CheckMemory, SaysWhatIsNeededWhatThereIsAndHowToNeedLess) {
  const Status status = check_memory({.argument_bytes = 3 * kGiB,
                                      .temp_bytes = kGiB,
                                      .devices = 2,
                                      .available_bytes = 8 * kGiB - 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("8.00 GiB"), HasSubstr("6.00 GiB"), HasSubstr("2.00 GiB"),
                    HasSubstr("batch_size"), HasSubstr("remat")));
}

TEST(CheckMemory, BeforeCompilingCountsWhatIsKnown) {
  const MemoryNeed need{.argument_bytes = 3 * kGiB,
                        .temp_bytes = std::nullopt,
                        .devices = 2,
                        .available_bytes = 6 * kGiB};
  EXPECT_TRUE(check_memory(need).ok());
  MemoryNeed more = need;
  more.argument_bytes += 1;
  EXPECT_THAT(std::string(check_memory(more).message()),
              AllOf(HasSubstr("needs more than 6.00 GiB"), HasSubstr("temporary beside it")));
}

TEST(CheckMemory, DoesNotOverflow) {
  EXPECT_FALSE(check_memory({.argument_bytes = INT64_MAX,
                             .temp_bytes = INT64_MAX,
                             .devices = 4096,
                             .available_bytes = kGiB})
                   .ok());
}

TEST(CheckMemory, TheHostHasSome) { EXPECT_GT(host_memory_bytes().value_or(0), 1 << 20); }

}  // namespace
}  // namespace tessera
