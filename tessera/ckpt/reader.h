#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/thread.h"
#include "tessera/ckpt/manifest.h"
#include "tessera/ckpt/staging_pool.h"
#include "tessera/ir/host_array.h"

namespace tessera {

/// One thing that is not as it was written.
struct Damage {
  std::string file;
  std::string array;  // empty when it concerns no one array
  std::string reason;
  /// DATA_LOSS, or why the file could not be read, which says nothing about its bytes.
  absl::StatusCode code = absl::StatusCode::kDataLoss;
};

/// Part of an array, and the memory that it goes to: dense and row-major.
struct RegionRead {
  std::string_view name;
  Box box;
  std::span<std::byte> out;
};

/// Reads one checkpoint. All functions may be called from many threads at once.
class CheckpointReader {
 public:
  /// NOT_FOUND when `folder` has no manifest: it is no checkpoint, or was never committed.
  /// DATA_LOSS when the manifest is damaged; UNIMPLEMENTED when it is of a newer program.
  static Result<std::unique_ptr<CheckpointReader>> open(FileSystem& files, std::string folder);

  const Manifest& manifest() const { return manifest_; }
  const std::string& folder() const { return folder_; }

  /// NOT_FOUND names the nearest array that there is.
  Result<const ArrayRecord*> array_info(std::string_view name) const;

  /// Fills `out`, dense and row-major, with `box` of an array. Only the pieces of chunks that `box`
  /// touches are read; each is verified. DATA_LOSS names the file, the parameter, and, through the
  /// hint, what else could be restored.
  Status read_region(std::string_view name, const Box& box, std::span<std::byte> out) const;
  Result<HostArray> read_array(std::string_view name) const;

  /// What one chunk has of several regions of an array, to be read at once.
  struct ChunkRead {
    const ArrayRecord* record;
    Dims chunk;
    std::vector<HostBox> to;
  };
  /// The reads that fill regions of one array, each chunk in one of them: what regions share, such
  /// as replicas, is read once.
  Result<std::vector<ChunkRead>> plan(std::span<const RegionRead> regions) const;
  /// Errors as those of read_region().
  Status read(const ChunkRead& chunk) const;

  /// Bytes read from chunk files so far.
  int64_t bytes_read() const { return bytes_read_; }

  /// Whether every file is there, with the right size: cheap. All damages, or only the first.
  std::vector<Damage> check_files(bool only_first = false) const;
  /// Whether the Zarr texts beside the chunks are as they were written: cheap too.
  std::vector<Damage> check_metadata() const;
  /// Reads everything and compares every checksum: finds any bit that changed. On `pool`'s threads.
  std::vector<Damage> verify(ThreadPool& pool) const;

  /// `hint` is called when something turns out to be damaged, and appended to the message.
  void set_damage_hint(std::function<std::string()> hint) { damage_hint_ = std::move(hint); }

 private:
  CheckpointReader(FileSystem& files, std::string folder, Manifest manifest)
      : files_(files), folder_(std::move(folder)), manifest_(std::move(manifest)) {}

  std::string array_path(std::string_view name) const;
  /// The array that a region is of, which it must fit.
  Result<const ArrayRecord*> check_region(const RegionRead& region) const;
  void check_files_of(const ArrayRecord& record, std::vector<Damage>* damages) const;
  Status with_hint(const Status& status, std::string_view name) const;

  FileSystem& files_;
  const std::string folder_;
  const Manifest manifest_;
  std::function<std::string()> damage_hint_;
  mutable std::atomic<int64_t> bytes_read_ = 0;
  mutable StagingPool scratch_;
};

/// "…/state/a/c.0: has 7 bytes instead of 20 (parameter a)", the first of several, and how many
/// more.
std::string describe(std::span<const Damage> damages);

}  // namespace tessera
