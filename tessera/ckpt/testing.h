#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/faulty_filesystem.h"
#include "tessera/base/testing.h"

namespace tessera {

/// For tests only: a folder for checkpoints, not yet there, on a disk that can be told to fail.
class ScratchTest : public ::testing::Test {
 protected:
  TempFolder folder_{TempFolder::kMemory};
  const std::string root_ = folder_ / "checkpoints";
  PosixFileSystem posix_;
  FaultyFileSystem disk_{posix_};  // without faults it is a disk that waits for no sync
};

}  // namespace tessera
