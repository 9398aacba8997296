#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/storage/fault_proxy.h"
#include "tests/storage/moto_store.h"

namespace tessera::storage_testing {

/// For tests: moto's server, one for all tests of a fixture, behind a proxy of each test's own.
class StoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { moto_ = std::make_unique<MotoStore>(); }
  static void TearDownTestSuite() { moto_.reset(); }

  /// Tries often and hardly waits.
  S3FileSystem::Options options() const {
    S3FileSystem::Options options;
    options.client.account = moto_->account(proxy_.port());
    options.client.retry = {.attempts = 6,
                            .first = absl::Milliseconds(1),
                            .longest = absl::Milliseconds(20),
                            .deadline = absl::Minutes(2)};
    options.client.limits = {
        .connect = absl::Seconds(10), .least_bytes_per_s = 1000, .slow = absl::Seconds(1)};
    options.part_bytes = 5 << 20;  // the least that S3 takes
    options.threads = 2;
    return options;
  }
  /// A path of this test's own.
  static std::string path(const std::string& name = "") {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return join_path(str_cat("s3://bucket/", info->test_suite_name(), "/", info->name()), name);
  }
  /// Any bytes, the same for a seed.
  static std::string bytes(size_t size, uint32_t seed = 1) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
    return text;
  }
  Status write(const std::string& path, std::string_view text) {
    return files_.write_file(path, {std::as_bytes(std::span(text))});
  }

  static inline std::unique_ptr<MotoStore> moto_;
  FaultProxy proxy_{moto_->port()};
  RealClock clock_;
  S3FileSystem files_{options(), clock_};
};

}  // namespace tessera::storage_testing
