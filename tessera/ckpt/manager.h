#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"
#include "tessera/base/folder_lock.h"
#include "tessera/base/thread.h"
#include "tessera/ckpt/reader.h"
#include "tessera/ckpt/writer.h"

namespace tessera {

/// How closely to look before a checkpoint is called good.
enum class CheckDepth {
  kFiles,     // the manifest is whole, every file is there and has its size
  kMetadata,  // and the texts beside the chunks are as they were written
  kContents,  // and every byte is as it was written: reads everything
};

/// Which checkpoints stay. The newest good one always does.
struct RetentionPolicy {
  int64_t keep_last = 0;         // the newest good ones; 0 keeps all
  int64_t keep_every_steps = 0;  // and those at multiples of this; 0 keeps none for that
  int64_t keep_best = 0;         // and the best by a metric; 0 keeps none for that
  /// Among a manifest's metrics; less is better. A checkpoint without it is worse than all with it,
  /// of equal ones the newer is the better.
  std::string best_metric = "eval_loss";
  /// The folder holds parts of checkpoints (spread_files.h), which cannot be found good here.
  bool parts = false;

  Status validate() const;
};

/// A folder that latest() passed over, or that prune() found damaged.
struct SkippedCheckpoint {
  std::string folder;
  std::string reason;
};

struct LatestCheckpoint {
  std::optional<int64_t> step;  // none: there is no good one
  std::vector<SkippedCheckpoint>
      skipped;  // newer than it, the newest first, and what was never committed
};

/// The folder of a run's checkpoints, <run>/checkpoints. Every function may be called from any
/// thread, but only one process at a time may save, prune or clean.
class CheckpointManager {
 public:
  /// Touches nothing yet. `threads` read at once when contents are checked.
  CheckpointManager(FileSystem& files, std::string directory, RetentionPolicy retention = {},
                    size_t threads = 2);

  const std::string& directory() const { return directory_; }
  FileSystem& files() const { return files_; }

  /// The steps whose folders are named as committed ones, ascending, good or not; in an object
  /// store those that have a manifest. Empty without a directory.
  Result<std::vector<int64_t>> list() const;
  /// The newest good checkpoint, and why others were not taken.
  Result<LatestCheckpoint> latest(CheckDepth depth = CheckDepth::kContents) const;
  /// Gives the newest checkpoint that looks good to `read`, and, when that finds it damaged while
  /// reading (DATA_LOSS), the next older one, until one was read. So what is read is verified, and
  /// read once: as latest() says, but for the contents of what `read` does not ask for. Any other
  /// error of `read` ends this.
  Result<LatestCheckpoint> read_latest(
      const std::function<Status(const CheckpointReader& reader)>& read) const;
  /// The newest good checkpoint before `step`; none when there is none.
  std::optional<int64_t> good_before(int64_t step, CheckDepth depth) const;

  /// NOT_FOUND lists the steps there are. Damage that shows up while reading says which older step
  /// is good.
  Result<std::unique_ptr<CheckpointReader>> open(int64_t step) const;
  /// Everything that is wrong with a step, which must exist. A damaged manifest is one damage.
  Result<std::vector<Damage>> verify(int64_t step) const;

  /// OK for a good checkpoint. DATA_LOSS when it is damaged, NOT_FOUND when it was never completed;
  /// other codes when it cannot be read by this program or now, which says nothing about it.
  Status check(int64_t step, CheckDepth depth) const;

  /// Starts a checkpoint. A good checkpoint of this step is ALREADY_EXISTS; a damaged one is
  /// removed first.
  Result<std::unique_ptr<CheckpointWriter>> begin(int64_t step, std::vector<ArraySpec> arrays,
                                                  CheckpointWriter::Options options = {}) const;

  /// Removes what runs that died left: folders never committed, and those half removed. When a run
  /// starts, and no save is under way. Returns their names. From then on, as long as this lives,
  /// another process's clean() of the folder, which it makes where it is missing, is
  /// FAILED_PRECONDITION: it would remove what is being saved. Object stores have no locks.
  Result<std::vector<std::string>> clean() const;
  /// Removes the checkpoints that the retention policy does not keep, once the newest kept one has
  /// been read and found good. Each is first renamed to <step>.deleted, or in an object store
  /// loses its manifest first, so that none is ever seen in part. Damaged ones newer than those do
  /// not count, and stay. Returns the removed steps.
  Result<std::vector<int64_t>> prune() const;
  /// Removes a step, good or not, the way that prune() does.
  Status remove(int64_t step) const;
  /// What prune() would remove now, the newest first.
  Result<std::vector<int64_t>> surplus() const;

 private:
  /// A checkpoint that check() finds good.
  Result<std::unique_ptr<CheckpointReader>> open_checked(int64_t step, CheckDepth depth) const;
  /// What stands in the directory.
  struct Folders {
    std::vector<int64_t> steps;       // committed, by their names or their manifests; ascending
    std::vector<FileInfo> leftovers;  // of saves and removals that died
  };
  Result<Folders> folders() const;
  friend Result<LatestCheckpoint> read_latest(
      std::span<const CheckpointManager* const> tiers,
      const std::function<Status(const CheckpointReader& reader)>& read);
  /// Tries the checkpoints, the newest first, until `why_not` has nothing against one; its errors
  /// end the search.
  using WhyNot = std::function<Result<std::optional<std::string>>(const CheckpointManager& tier,
                                                                  int64_t step)>;
  static Result<LatestCheckpoint> find_latest(std::span<const CheckpointManager* const> tiers,
                                              const WhyNot& why_not);
  /// Why `read` could not make use of the step; nothing when it did. An error ends the search.
  Result<std::optional<std::string>> why_not_read(
      int64_t step, const std::function<Status(const CheckpointReader& reader)>& read) const;
  /// The steps among `candidates`, ascending, that keep_best keeps.
  std::vector<int64_t> best_of(std::span<const int64_t> candidates) const;
  std::string hint(int64_t damaged_step) const;
  Status lock() const;

  FileSystem& files_;
  const std::string directory_;
  const RetentionPolicy retention_;
  const std::unique_ptr<ThreadPool> pool_;
  mutable std::mutex mutex_;
  mutable std::optional<FolderLock> lock_;  // guarded by mutex_
};

/// CheckpointManager::read_latest() over several folders of one run's checkpoints: the newest of
/// all is tried first, and of one step that of the folder named first.
Result<LatestCheckpoint> read_latest(
    std::span<const CheckpointManager* const> tiers,
    const std::function<Status(const CheckpointReader& reader)>& read);

}  // namespace tessera
