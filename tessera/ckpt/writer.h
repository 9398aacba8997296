#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/thread.h"
#include "tessera/ckpt/array_spec.h"
#include "tessera/ckpt/manifest.h"

namespace tessera {

/// One chunk that was written: what the process that commits must know of the others' work.
struct WrittenChunk {
  std::string array;
  int64_t chunk = 0;  // position in row-major order of the grid
  StoredChunk stored;
};

/// For handing them over, and back; DATA_LOSS for what is no such text.
std::string to_text(std::span<const WrittenChunk> chunks);
Result<std::vector<WrittenChunk>> written_from_text(const std::string& text);

/// Writes one checkpoint: begin() makes the folder <directory>/<step>.tmp, write_shard() fills it,
/// commit() writes the manifest, syncs, and renames the folder to <directory>/<step>. Until that
/// rename there is no checkpoint, after it there is a whole one, whatever happens. Destroyed
/// without a commit, it removes the temporary folder.
///
/// Where folders cannot be renamed (FileSystem::renames_folders) it writes into
/// <directory>/<step> itself: without a manifest that is no checkpoint, and creating the manifest
/// is the commit. Of two runs that commit the same step one gets ALREADY_EXISTS.
///
/// With several processes, one leads: the others begin after it has begun, write their shards, hand
/// written() to the leader, which adopts it and commits. write_shard and written may be called from
/// many threads at once.
class CheckpointWriter {
 public:
  struct Options {
    /// Makes the folders and the metadata, and commits. Exactly one process.
    bool leads = true;
    /// Its threads write and sync the metadata; without one, the caller's does. Must outlive the
    /// writer.
    ThreadPool* pool = nullptr;
    /// The part of the arrays that comes to this folder: that much of the disk must be free.
    double share = 1;
  };

  /// `arrays` is the whole state, the same in every process. ALREADY_EXISTS when the step is there;
  /// RESOURCE_EXHAUSTED when the disk has less free than the arrays need; INVALID_ARGUMENT for
  /// arrays whose names or sizes do not fit.
  static Result<std::unique_ptr<CheckpointWriter>> begin(FileSystem& files, std::string directory,
                                                         int64_t step,
                                                         std::vector<ArraySpec> arrays,
                                                         Options options);
  static Result<std::unique_ptr<CheckpointWriter>> begin(FileSystem& files, std::string directory,
                                                         int64_t step,
                                                         std::vector<ArraySpec> arrays) {
    return begin(files, std::move(directory), step, std::move(arrays), Options{});
  }
  ~CheckpointWriter();

  /// Stores the elements of `box` of an array, dense and row-major in `bytes`. `box` must be one
  /// chunk of the array's grid, cut off at the array's end; each chunk is written once over all
  /// processes.
  Status write_shard(std::string_view array, const Box& box, std::span<const std::byte> bytes);

  /// The chunks that this process wrote.
  std::vector<WrittenChunk> written() const;
  /// Takes over what other processes wrote.
  Status adopt(std::span<const WrittenChunk> chunks);

  /// Makes it a checkpoint. Step and arrays of `manifest` are filled in here. FAILED_PRECONDITION,
  /// naming the array, when a chunk was not written.
  Status commit(Manifest manifest);
  /// Removes the temporary folder; nothing else can be called after.
  Status abort();

  /// Of all arrays, as it lies on disk; before all chunks are written, as without compression.
  int64_t bytes() const;
  /// Where it writes until the commit.
  const std::string& temporary_folder() const { return temporary_; }

 private:
  struct Array {
    ArrayRecord record;
    std::vector<bool> written;
  };

  CheckpointWriter(FileSystem& files, std::string directory, int64_t step, Options options);
  Status add_arrays(std::vector<ArraySpec> arrays);
  Status make_folder();
  Status write_metadata();
  Status check_complete() const;
  /// The last steps of a commit, on a disk and in an object store.
  Status rename_into_place(const std::string& manifest);
  Status create_manifest(const std::string& manifest);
  Status note(Array& array, int64_t chunk, const StoredChunk& stored);
  Result<int64_t> chunk_of(const Array& array, const Box& box) const;
  /// Says how much is needed when the disk was full.
  Status explain(const Status& status) const;

  FileSystem& files_;
  const std::string directory_;
  const int64_t step_;
  const Options options_;
  const std::string temporary_;
  int64_t bytes_ = 0;                 // without compression
  bool open_ = false;                 // whether there is a folder to remove
  bool commit_tried_ = false;         // whether a manifest may be there that is ours
  std::vector<std::string> folders_;  // of the temporary folder, parents first
  mutable std::mutex mutex_;          // guards checksums and marks inside arrays_, and written_
  std::map<std::string, Array, std::less<>> arrays_;
  std::vector<WrittenChunk> written_;
};

/// "<directory>/<step>".
std::string checkpoint_folder(std::string_view directory, int64_t step);

}  // namespace tessera
