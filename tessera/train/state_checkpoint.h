#pragma once

#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/ckpt/staging_pool.h"
#include "tessera/runtime/array.h"
#include "tessera/train/layout.h"
#include "tessera/train/save_shares.h"

namespace tessera {

/// Waits until every array of a state is computed; the first error of what computes them.
Status wait_until_ready(const Tree<Array>& state);

/// How what is copied is to be stored.
struct CopyOptions {
  /// Larger shards are stored in pieces of about this size, which a reader can take one by one.
  int64_t chunk_bytes = kDefaultChunkBytes;
  int zstd_level = 0;  ///< 0: not compressed
};
/// Copies the parts of a state that `shares` gives to devices of this process to host memory of
/// `pool`, ready to be saved; all copies are under way at once. The state must be computed, see
/// wait_until_ready(): where devices have the host's memory it is read as it is. It may be donated
/// as soon as this returns.
Result<SaveRequest> copy_to_host(int64_t step, const Tree<Array>& state, const SaveShares& shares,
                                 StagingPool& pool, CopyOptions options = {});

struct RestoreOptions {
  /// About as much lies in host memory between disk and devices, or the largest array.
  int64_t staging_bytes = 256 << 20;
};
/// Reads the arrays that `specs` name onto the layout's mesh, on several threads: of each what this
/// process's devices hold, once, and verified. On the CPU straight to the devices' memory, else
/// through that of the host. What the disk's cache does not have is read past it, unless other
/// processes take part. Errors: an array that the checkpoint lacks, or has with another shape or
/// dtype; one that it has beside `specs` in a branch of theirs ("params"); damage.
Result<Tree<Array>> restore(Runtime& runtime, const CheckpointReader& reader,
                            std::span<const ArgumentSpec> specs, const Layout& layout,
                            const RestoreOptions& options = {});

/// A warning in the log for each checkpoint that was not taken.
void log_skipped(const LatestCheckpoint& latest);

}  // namespace tessera
