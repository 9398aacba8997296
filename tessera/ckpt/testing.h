#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/base/testing.h"
#include "tessera/ckpt/sample_state.h"

namespace tessera {

/// For tests only: a folder for checkpoints, not yet there, on a disk that can be told to fail.
class ScratchTest : public ::testing::Test {
 protected:
  TempFolder folder_{TempFolder::kMemory};
  const std::string root_ = folder_ / "checkpoints";
  PosixFileSystem posix_;
  FaultyFileSystem disk_{posix_};  // without faults it is a disk that waits for no sync
};

/// Saves sample::few_specs(), which must go well.
inline void save_few(const CheckpointManager& manager, int64_t step) {
  const Status status = sample::save(manager, sample::request(step, sample::few_specs()));
  ASSERT_TRUE(status.ok()) << status;
}

/// The latest good step, read in full.
inline std::optional<int64_t> latest_good(const CheckpointManager& manager) {
  const auto latest = manager.latest(CheckDepth::kContents);
  EXPECT_TRUE(latest.ok()) << latest.status();
  return latest.ok() ? latest->step : std::nullopt;
}

/// That a step holds sample::few_specs(), bit for bit.
inline void expect_few(const CheckpointManager& manager, int64_t step) {
  const auto reader = manager.open(step);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const ArraySpec& spec : sample::few_specs()) {
    const auto array = (*reader)->read_array(spec.name);
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_TRUE(std::ranges::equal(array->bytes(), sample::values_of(spec).bytes()));
  }
}

}  // namespace tessera
