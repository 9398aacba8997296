#include "tessera/pjrt/cpu_environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace tessera::pjrt {
namespace {

/// Puts a variable back as it was.
class SavedVariable {
 public:
  explicit SavedVariable(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
    unsetenv(name);
  }
  ~SavedVariable() {
    unsetenv(name_);
    if (value_) setenv(name_, value_->c_str(), 1);
  }

 private:
  const char* name_;
  std::optional<std::string> value_;
};

TEST(CpuEnvironment, GivesEachDeviceEnoughThreads) {
  SavedVariable flags("XLA_FLAGS"), threads("PJRT_NPROC");
  prepare_cpu_environment(500);
  EXPECT_STREQ(std::getenv("PJRT_NPROC"), "2000");
  EXPECT_STREQ(std::getenv("XLA_FLAGS"), "--xla_force_host_platform_device_count=500");
}

TEST(CpuEnvironment, RaisesTooFewThreads) {
  SavedVariable flags("XLA_FLAGS"), threads("PJRT_NPROC");
  prepare_cpu_environment(300);
  prepare_cpu_environment(400);
  EXPECT_STREQ(std::getenv("PJRT_NPROC"), "1600");
}

TEST(CpuEnvironment, LeavesFlagsAndMoreThreadsThatTheUserHasSet) {
  SavedVariable flags("XLA_FLAGS"), threads("PJRT_NPROC");
  setenv("PJRT_NPROC", "3000", 1);
  setenv("XLA_FLAGS", "--xla_dump_to=x", 1);
  prepare_cpu_environment(2);
  prepare_cpu_environment(5);
  EXPECT_STREQ(std::getenv("PJRT_NPROC"), "3000");
  EXPECT_STREQ(std::getenv("XLA_FLAGS"),
               "--xla_dump_to=x --xla_force_host_platform_device_count=2");
}

}  // namespace
}  // namespace tessera::pjrt
