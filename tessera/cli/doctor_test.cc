#include "tessera/cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

TEST(Doctor, EveryShortcomingOfAMachineHasARemedy) {
  Machine machine;
  machine.cores = 8;
  machine.cpu_limit = 2;
  machine.cpu_flags = {"sse4_2"};
  machine.memory_bytes = int64_t{64} << 30;
  machine.memory_limit_bytes = int64_t{1} << 30;
  machine.huge_pages = "never";
  const std::vector<Finding> findings = check_machine(machine);
  ASSERT_EQ(findings.size(), 4u);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.broken);
    EXPECT_FALSE(finding.remedy.empty());
  }
  EXPECT_THAT(findings[2].what, HasSubstr("2.0 cores' time, but sees 8 cores"));
  EXPECT_THAT(findings[3].what, HasSubstr("1.00 GiB"));
}

TEST(Doctor, WhatIsNotKnownOfAMachineIsNoShortcoming) {
  EXPECT_TRUE(check_machine(probe_machine("/nowhere")).empty());
}

TEST(Doctor, AGoodMachineHasNothingToMend) {
  Machine machine;
  machine.cores = 2;
  machine.cpu_limit = 2;
  machine.cpu_flags = {"avx2"};
  machine.memory_bytes = int64_t{24} << 30;
  machine.huge_pages = "madvise";
  EXPECT_TRUE(check_machine(machine).empty());
}

}  // namespace
}  // namespace tessera::cli
