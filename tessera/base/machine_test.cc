#include "tessera/base/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tessera/base/testing.h"

namespace tessera {
namespace {

TEST(Machine, IsReadFromProcAndSys) {
  const TempFolder root;
  root.write("proc/cpuinfo",
             "processor\t: 0\nmodel name\t: Fast CPU: 9\nflags\t\t: fpu avx2 "
             "avx512_bf16\n\nprocessor\t: 1\n");
  root.write("proc/meminfo", "MemTotal:       1024 kB\nMemAvailable:    512 kB\n");
  root.write("proc/loadavg", "0.75 1.50 2.00 3/400 12345\n");
  root.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/memory.max", "4096\n");
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const Machine machine = probe_machine(root.path());
  EXPECT_EQ(machine.cpu_model, "Fast CPU: 9");
  EXPECT_THAT(machine.cpu_flags, ::testing::ElementsAre("avx2", "avx512_bf16", "fpu"));
  EXPECT_EQ(machine.cpu_limit, 1.5);
  EXPECT_EQ(machine.load, 0.75);
  EXPECT_EQ(machine.memory_bytes, 1024 * 1024);
  EXPECT_EQ(machine.memory_available_bytes, 512 * 1024);
  EXPECT_EQ(machine.memory_limit_bytes, 4096);
  EXPECT_EQ(machine.huge_pages, "madvise");
  root.write("sys/fs/cgroup/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_FALSE(probe_machine(root.path()).cpu_limit.has_value());
  EXPECT_FALSE(probe_machine(root.path()).memory_limit_bytes.has_value());
}

TEST(Machine, WhatCannotBeReadIsEmpty) {
  const Machine machine = probe_machine("/nowhere");
  EXPECT_EQ(machine.cpu_model, "");
  EXPECT_EQ(machine.memory_bytes, 0);
  EXPECT_FALSE(machine.load.has_value());
}

TEST(Machine, ThisOneHasCoresAndMemory) {
  const Machine machine = probe_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory_bytes, 0);
}

}  // namespace
}  // namespace tessera
