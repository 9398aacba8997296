#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/ckpt/staging_pool.h"
#include "tessera/runtime/array.h"
#include "tessera/train/local_tier.h"
#include "tessera/train/metrics.h"
#include "tessera/train/save_shares.h"
#include "tessera/train/session.h"

namespace tessera {

/// A run's checkpoints while it trains: device state is copied to host memory that is used again
/// and again, written in the background, and reported once that ended. A save that fails is logged
/// and remembered, and the run goes on: what is in memory is worth more than a clean exit.
///
/// Checkpoints go to checkpoint.directory, the durable tier, and where the run has one to a local
/// tier as well; a save of one does not wait for that of the other.
///
/// For one thread: the one that trains.
class RunCheckpoints {
 public:
  /// All must outlive this. `group`: the processes that save together; null for one alone.
  RunCheckpoints(const Session& session, FileSystem& files, const Clock& clock,
                 SaveGroup* group = nullptr);
  /// From now on there is this tier too, which outlives this.
  void add(LocalTier& tier);

  /// Of the durable tier.
  const CheckpointManager& manager() const { return manager_; }
  /// The folder of the newest one that is known to be good; empty when none is.
  const std::string& good_folder() const { return good_folder_; }
  /// Whether the durable tier has this step.
  bool is_durable(int64_t step) const { return durable_.good_step == step; }
  /// Of the first save that failed.
  const Status& failure() const { return failure_; }
  /// The run goes on from this one, which is in `folder`.
  void resumed(int64_t step, const std::string& folder);

  struct Request {
    int64_t step = 0;
    const Tree<Array>* state = nullptr;
    Manifest manifest;  ///< `data` and `metrics`; the rest is filled in.
    /// By clock.elapsed(): when the loop stopped for it, for what it waited on the devices.
    absl::Duration asked;
    /// Left out, and said so, when an earlier one is still being written.
    bool may_skip = false;
    bool durable = true, local = false;  ///< Where to.
  };
  /// Waits for the state to be computed and for a save to the same tier under way, copies, and
  /// starts to write. Nothing happens when this step was saved before. The state may be donated
  /// afterwards.
  Status save(Request request, MetricsLogger& metrics);
  /// Reports saves that ended since.
  void report(MetricsLogger& metrics);
  /// Waits for the saves under way and reports them.
  void finish(MetricsLogger& metrics);

 private:
  struct Tier {
    const CheckpointManager* manager = nullptr;
    CheckpointSaver* saver = nullptr;  // null: there is no such tier
    bool saving = false;               // a save was begun whose end was not reported
    int64_t requested_step = -1;       // of the newest save that was begun
    int64_t good_step = -1;            // of the newest that is known to be there
    double stall_s = 0;                // of the save under way
  };

  /// Whether the step is to be saved there, once the save before it is over.
  bool takes(Tier& tier, const Request& request, MetricsLogger& metrics);
  void finish(Tier& tier, MetricsLogger& metrics);
  void note(Tier& tier, const SaveResult& result, MetricsLogger& metrics);
  void warn_if_folder_is_gone();
  void describe(Manifest& manifest) const;

  const Session& session_;
  const Clock& clock_;
  CheckpointManager manager_;
  CheckpointSaver saver_;
  std::optional<SaveShares> shares_;
  StagingPool pool_;
  Tier durable_, local_;
  LocalTier* local_tier_ = nullptr;
  std::string good_folder_;
  double ready_s_ = 0;  // of the newest save
  bool warned_of_folder_ = false;
  Status failure_;
};

/// The recipe's section as the layer below takes it.
RetentionPolicy retention_policy(const CheckpointConfig& config);

/// A config as a checkpoint stores it.
std::string config_json(RunConfig config);

}  // namespace tessera
