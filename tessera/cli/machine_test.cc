#include "tessera/cli/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tessera/base/filesystem.h"
#include "tessera/base/strings.h"
#include "tessera/cli/doctor.h"

namespace tessera::cli {
namespace {

using ::testing::HasSubstr;

TEST(Machine, IsReadFromProcAndSys) {
  PosixFileSystem disk;
  const std::string root = str_cat(::testing::TempDir(), "/machine_test_", getpid());
  auto write = [&](const std::string& name, std::string_view text) {
    ASSERT_TRUE(disk.create_dirs(parent_path(root + name)).ok());
    ASSERT_TRUE(disk.write_file_atomic(root + name, text).ok());
  };
  write("/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast CPU: 9\nflags\t\t: fpu avx2 "
        "avx512_bf16\n\nprocessor\t: 1\n");
  write("/proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:    512 kB\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/memory.max", "4096\n");
  write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const Machine machine = probe_machine(root);
  EXPECT_EQ(machine.cpu_model, "Fast CPU: 9");
  EXPECT_THAT(machine.cpu_flags, ::testing::ElementsAre("avx2", "avx512_bf16", "fpu"));
  EXPECT_EQ(machine.cpu_limit, 1.5);
  EXPECT_EQ(machine.memory_bytes, 1024 * 1024);
  EXPECT_EQ(machine.memory_available_bytes, 512 * 1024);
  EXPECT_EQ(machine.memory_limit_bytes, 4096);
  EXPECT_EQ(machine.huge_pages, "madvise");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  EXPECT_FALSE(probe_machine(root).cpu_limit.has_value());
  EXPECT_FALSE(probe_machine(root).memory_limit_bytes.has_value());
  ASSERT_TRUE(disk.remove_tree(root).ok());
}

TEST(Machine, WhatCannotBeReadIsEmpty) {
  const Machine machine = probe_machine("/nowhere");
  EXPECT_EQ(machine.cpu_model, "");
  EXPECT_EQ(machine.memory_bytes, 0);
  EXPECT_TRUE(check_machine(machine).empty());
}

TEST(Machine, ThisOneHasCoresAndMemory) {
  const Machine machine = probe_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 0);
}

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
