#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/data/batch.h"

namespace tessera {

/// Which examples a run's steps used: <output_directory>/examples/process-<k>.jsonl, a line a step
/// with the rows of the global batch that this process read and the source and example of each.
/// Rows of padding have example -1.
class ExamplesLog {
 public:
  /// Keeps of all processes' files what is of steps up to `step`: of a run that goes on from there.
  static Status cut(FileSystem& files, const std::string& output_directory, int64_t step);
  /// After cut().
  static Result<std::unique_ptr<ExamplesLog>> open(FileSystem& files,
                                                   const std::string& output_directory,
                                                   int process);
  Status add(int64_t step, const Batch& batch);

 private:
  explicit ExamplesLog(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  std::unique_ptr<WritableFile> file_;
};

}  // namespace tessera
