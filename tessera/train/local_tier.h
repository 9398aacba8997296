#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/ckpt/spread_files.h"
#include "tessera/coord/peer_files.h"
#include "tessera/train/config.h"
#include "tessera/train/peer_saves.h"
#include "tessera/train/peers.h"

namespace tessera {

/// How the processes of a run reach each other for what is large.
struct PeerNetwork {
  std::string coordinator;  ///< "host:port"; empty for a run in one process.
  coord::MtlsConfig mtls;
};

/// The near tier of a run's checkpoints: each process keeps its shards in a folder of its own
/// machine, in memory or on a disk there, and a second time in that of another process, over the
/// network. So it is quick, and any one machine may be lost.
///
/// <checkpoint.local.directory>/<run>/process_<k>/<step>, where <run> is a name that the run got
/// when it began: what other runs left there is not taken for this one's.
///
/// For one thread: the one that trains.
class LocalTier {
 public:
  /// Finds out what all processes hold. All of them call this. `files` outlives it, as `clock`
  /// does.
  static Result<std::unique_ptr<LocalTier>> open(const LocalCheckpointConfig& config,
                                                 const std::string& run, FileSystem& files,
                                                 const Clock& clock, Peers& peers,
                                                 const PeerNetwork& network);

  /// What all processes held when this was opened, as one folder.
  const CheckpointManager& held() const { return *held_; }
  /// The run goes on from this step, -1: from none. What is newer is removed here: it is of a past
  /// that did not come to be.
  Status resumed(int64_t step);

  /// This process's own folder, and what saves to it.
  const CheckpointManager& manager() const { return *manager_; }
  CheckpointSaver& saver() { return *saver_; }
  /// After a save that went well: what processes left on this machine that are here no longer.
  Status remove_stale();
  /// After a run that is complete: all that this process kept.
  Status discard();

 private:
  LocalTier(const LocalCheckpointConfig& config, const std::string& run, FileSystem& files,
            Peers& peers);
  Status prepare(const LocalCheckpointConfig& config, const Peers& peers,
                 const PeerNetwork& network);
  Status meet(Peers& peers, const PeerNetwork& network);

  FileSystem& files_;
  const std::string place_;  // of this run, on this machine
  const std::string own_;    // the folder in it
  PeerSaves group_;
  std::string owner_, address_;   // of this process: its folder's mark, its server
  PlaceIndex index_;              // until it was told
  int distance_ = 0;              // to the process that keeps this one's second copy
  std::set<std::string> owners_;  // the marks of all processes' folders
  bool may_be_stale_ = true;
  std::unique_ptr<coord::PeerFileServer> server_;
  std::vector<std::unique_ptr<FileSystem>> others_;  // by process; null for this one
  std::unique_ptr<SpreadFiles> spread_;
  std::unique_ptr<CheckpointManager> held_, manager_;
  std::unique_ptr<CheckpointSaver> saver_;  // last: its thread uses the others
};

/// How far along the ring of processes each puts its second copy: the least distance at which no
/// process's copy stays on its own host, else that at which fewest do. `hosts` by process.
int copy_distance(const std::vector<std::string>& hosts);

/// The name of the run whose checkpoints are in `directory`: the one that is written there, else a
/// new one, which is written. On one process.
Result<std::string> run_name(FileSystem& files, const std::string& directory);

}  // namespace tessera
