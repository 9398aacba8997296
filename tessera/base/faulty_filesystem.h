#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/filesystem.h"

namespace tessera {

/// A file system for tests: passes everything on to another one, counts what changes it, and fails
/// where it is told. Syncs are noted but not passed on: what a loss of power would take is known
/// here, and tests need not wait for a disk.
///
/// Operations that count, one each: create_file, append_file, WritableFile::append, sync and close,
/// create_dir, rename, remove, sync_dir, and over an object store create_once. The first is number
/// 0. Thread-safe; set the faults before the threads start.
class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& base) : base_(base) {}

  /// Operation `index` fails with `status` and does nothing; the others go on as usual.
  void fail_operation(int64_t index, Status status);
  /// The process "dies" in operation `index`: a write stores half of its bytes, anything else
  /// nothing, and whatever is called later, reading too, fails with ABORTED.
  void crash_at(int64_t index);
  /// Whether a close(), remove() or create_once() that is struck takes effect all the same, so that
  /// only its answer is lost, as over a network.
  void lose_answers(bool lost) { lose_answers_ = lost; }
  /// The disk is full once `bytes` more have been written: RESOURCE_EXHAUSTED, as the real one
  /// says. free_bytes() knows when `seen`.
  void limit_bytes(int64_t bytes, bool seen = true);
  /// Forgets the faults and the crash.
  void heal();

  /// What a loss of power takes: bytes of files not synced, and names created or renamed in
  /// directories not synced (the newest first; a rename that replaced a file, and removals, count
  /// as durable). Then forgets what was pending.
  Status lose_unsynced();

  int64_t operations() const;
  /// Through read_at() of every file opened here.
  int64_t bytes_read() const { return bytes_read_; }
  bool crashed() const;

  Result<std::unique_ptr<ReadableFile>> open_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create_file(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_file(const std::string& path) override;
  Status create_dir(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status sync_dir(const std::string& path) override;
  Result<std::vector<FileInfo>> list(const std::string& path) override;
  Result<FileInfo> stat(const std::string& path) override;
  Result<int64_t> free_bytes(const std::string& path) override;
  bool renames_folders(const std::string& path) const override {
    return base_.renames_folders(path);
  }
  /// Over an object store one operation, else those that it is made of.
  Status create_once(const std::string& path, std::string_view text) override;
  Status discard_unfinished(const std::string& path) override;

 private:
  friend class FaultyWritableFile;
  friend class CountedReadableFile;
  /// A name that the next sync_dir of its directory makes durable.
  struct PendingName {
    std::string path;
    std::string renamed_from;  // empty for a creation
  };

  /// Counts one operation; the fault that strikes it, if any.
  Status next_operation();
  /// The same, then `operation`: when a fault strikes and answers are lost, it is done before the
  /// fault is returned.
  template <typename Operation>
  Status answered(const Operation& operation);
  Status check_alive() const;
  /// How many of `wanted` bytes the limit still lets through, which it then takes.
  int64_t take_bytes(int64_t wanted);
  Result<std::unique_ptr<WritableFile>> open_to_write(const std::string& path, bool append);
  void note_synced(const std::string& path, int64_t size_bytes);
  void move_pending(const std::string& from, const std::string& to);
  Status truncate(const std::string& path, int64_t size_bytes);

  FileSystem& base_;
  std::atomic<bool> lose_answers_ = false;
  std::atomic<int64_t> bytes_read_ = 0;
  mutable std::mutex mutex_;  // guards what follows
  int64_t operations_ = 0;
  std::optional<int64_t> crash_at_;
  bool crashed_ = false;
  std::map<int64_t, Status> failures_;
  std::optional<int64_t> bytes_left_;
  bool limit_seen_ = true;
  std::map<std::string, int64_t> synced_bytes_;  // of the files with bytes that are not durable
  std::vector<PendingName> pending_names_;       // oldest first
};

}  // namespace tessera
