#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/thread.h"
#include "tessera/ckpt/manager.h"

namespace tessera {

/// A shard in host memory, to be written. `owner` keeps the bytes alive and unchanged until they
/// are.
struct HostShard {
  std::string array;
  Box box;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// A state to save.
struct SaveRequest {
  int64_t step = 0;
  std::vector<ArraySpec> arrays;  // the whole state
  std::vector<HostShard> shards;  // this process's part of it
  Manifest manifest;              // step and arrays are filled in
  double copy_s = 0;              // what it took to get the shards, for the result
};

/// How a save went.
struct SaveResult {
  Status status;
  int64_t step = 0;
  int64_t bytes = 0;    // of the whole checkpoint on disk
  double wait_s = 0;    // save() waited for the save before
  double copy_s = 0;    // the request's
  double write_s = 0;   // shards written and synced
  double commit_s = 0;  // manifest, directories, rename
  double prune_s = 0;   // older checkpoints removed
  std::vector<int64_t> pruned;
};

/// The processes that save one state together, each its own shards: they make the same saves in the
/// same order. A checkpoint is there for all of them or for none.
class SaveGroup {
 public:
  virtual ~SaveGroup() = default;
  virtual int process() const = 0;
  virtual int processes() const = 0;
  /// Exactly one does, process 0: it makes the folder and commits (CheckpointWriter).
  bool leads() const { return process() == 0; }
  /// OK where every process brings OK. Else, on all, the error of one that does not.
  virtual Status agree(const std::string& what, const Status& own) = 0;
  /// Every process's text, on the one that leads; an empty list on the others.
  virtual Result<std::vector<std::string>> gather(const std::string& text) = 0;
  /// Every process's text, on all; the first is that of the one that leads.
  virtual Result<std::vector<std::string>> gather_everywhere(const std::string& text) = 0;
};

/// Saves in the background: one save at a time, written by several threads.
///
/// save(), idle() and wait() are for one thread: the one that trains.
class CheckpointSaver {
 public:
  struct Options {
    /// More than cores: they mostly wait for the disk to sync.
    size_t threads = 8;
    /// The processes that save the state together; null: this one alone. Outlives the saver, whose
    /// thread calls it.
    SaveGroup* group = nullptr;
    /// Each process commits a folder of its own, with its shards and the manifest of all: a
    /// checkpoint that is spread over folders which no other process sees (spread_files.h). The
    /// manager's retention has `parts` set then.
    bool spread = false;
    /// Of a spread checkpoint: where this process's shards go a second time, into the folder of
    /// another one. Unset: nowhere.
    struct SecondCopy {
      FileSystem* files = nullptr;  // outlives the saver
      std::string directory;
    };
    std::optional<SecondCopy> second_copy;
    /// A shard with an element that is infinite or not a number fails the save: such a state is of
    /// no use to go on from, and must not take the place of a good one.
    bool refuse_not_finite = false;
    /// Called after this process's shards are written and before the commit. May be empty.
    std::function<Status(CheckpointWriter&)> before_commit;
  };

  /// `manager` and `clock` must outlive this.
  CheckpointSaver(const CheckpointManager& manager, const Clock& clock, Options options);
  CheckpointSaver(const CheckpointManager& manager, const Clock& clock)
      : CheckpointSaver(manager, clock, Options{}) {}
  /// Waits for the save under way.
  ~CheckpointSaver();

  /// Waits for a save under way, starts this one, and returns: the future is ready once it is
  /// committed, or has failed. A failed save leaves nothing behind, and the checkpoints before it
  /// as they were.
  std::shared_future<SaveResult> save(SaveRequest request);
  /// Whether no save is under way.
  bool idle() const;
  /// Waits for the save under way; the result of the last one, if there was any.
  std::optional<SaveResult> wait();

 private:
  SaveResult run(const SaveRequest& request);
  Status write(const SaveRequest& request, SaveResult* result);
  /// Here, and into the second copy where there is one.
  Status write_shards(const SaveRequest& request, CheckpointWriter& writer);
  /// Hands what was written here to the one that commits, or to all.
  Status collect(CheckpointWriter& writer, Manifest* manifest);
  Status collect_everywhere(CheckpointWriter& writer, Manifest* manifest);
  double share_here() const;
  bool leads_group() const { return options_.group == nullptr || options_.group->leads(); }
  bool commits() const { return options_.spread || leads_group(); }
  /// With the group; alone, `own`.
  Status agree(const std::string& what, const Status& own);

  const CheckpointManager& manager_;
  const Clock& clock_;
  const Options options_;
  ThreadPool writers_;
  std::shared_future<SaveResult> last_;
  Thread thread_;  // runs the save under way
};

}  // namespace tessera
