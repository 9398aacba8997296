#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/coord.pb.h"

namespace tessera::coord {

/// Batches of records in a folder that outlive the process: docs/format_coordinator_journal.md. One
/// process at a time has the folder open. Not thread-safe.
class Journal {
 public:
  /// Makes the folder where it is missing, and locks it; FAILED_PRECONDITION when another process
  /// has it. An incomplete batch at the end, as a crash leaves it, is forgotten; damage before the
  /// end is DATA_LOSS.
  static Result<std::unique_ptr<Journal>> open(FileSystem& files, const std::string& folder);
  ~Journal();

  /// What was stored before, oldest first. Taken once.
  std::vector<wire::Batch> take_stored() { return std::exchange(stored_, {}); }
  /// How many bytes of an incomplete batch were dropped.
  int64_t dropped_bytes() const { return dropped_bytes_; }

  /// Replaces everything by `batch`, at once or not at all. Required before the first append.
  Status rewrite(const wire::Batch& batch);
  /// Once this returns OK, the batch survives a crash and a loss of power. After an error nothing
  /// more can be stored.
  Status append(const wire::Batch& batch);
  /// Whether rewrite() would save space: more was appended since the last than four times its size.
  bool is_long() const;

 private:
  Journal(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {}
  Status lock();
  Status read();
  std::string path() const { return join_path(folder_, "journal"); }

  FileSystem& files_;
  const std::string folder_;
  int lock_ = -1;
  std::vector<wire::Batch> stored_;
  std::unique_ptr<WritableFile> file_;
  Status broken_;
  int64_t dropped_bytes_ = 0;
  int64_t rewritten_bytes_ = 0, appended_bytes_ = 0;
};

}  // namespace tessera::coord
