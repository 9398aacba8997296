#pragma once

#include <memory>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/ckpt/staging_pool.h"
#include "tessera/runtime/array.h"
#include "tessera/train/metrics.h"
#include "tessera/train/session.h"

namespace tessera {

/// A run's checkpoints while it trains: device state is copied to host memory that is used again
/// and again, written in the background, and reported once that ended. A save that fails is logged
/// and remembered, and the run goes on: what is in memory is worth more than a clean exit.
///
/// For one thread: the one that trains.
class RunCheckpoints {
 public:
  /// All must outlive this. `group`: the processes that save together; null for one alone.
  RunCheckpoints(const Session& session, FileSystem& files, const Clock& clock,
                 SaveGroup* group = nullptr);

  const CheckpointManager& manager() const { return manager_; }
  /// The newest one that is known to be good; -1 when none is.
  int64_t good_step() const { return good_step_; }
  /// Of the first save that failed.
  const Status& failure() const { return failure_; }
  /// The run goes on from this one.
  void resumed(int64_t step) { good_step_ = requested_step_ = step; }

  struct Request {
    int64_t step = 0;
    const Tree<Array>* state = nullptr;
    Manifest manifest;  ///< `data` and `metrics`; the rest is filled in.
    /// By clock.elapsed(): when the loop stopped for it, for what it waited on the devices.
    absl::Duration asked;
    /// Left out, and said so, when an earlier one is still being written.
    bool may_skip = false;
  };
  /// Waits for the state to be computed and for a save under way, copies, and starts to write.
  /// Nothing happens when this step was saved before. The state may be donated afterwards.
  Status save(Request request, MetricsLogger& metrics);
  /// Reports a save that ended since, if there is one.
  void report(MetricsLogger& metrics);
  /// Waits for the save under way and reports it.
  void finish(MetricsLogger& metrics);

 private:
  void note(const SaveResult& result, MetricsLogger& metrics);
  void warn_if_folder_is_gone();
  void describe(Manifest& manifest) const;

  const Session& session_;
  const Clock& clock_;
  CheckpointManager manager_;
  CheckpointSaver saver_;
  StagingPool pool_;
  bool saving_ = false;          // a save was begun whose end was not reported
  int64_t requested_step_ = -1;  // of the newest save that was begun
  int64_t good_step_ = -1;
  double ready_s_ = 0, stall_s_ = 0;  // of the save under way
  bool warned_of_folder_ = false;
  Status failure_;
};

/// The recipe's section as the layer below takes it.
RetentionPolicy retention_policy(const CheckpointConfig& config);

/// A config as a checkpoint stores it.
std::string config_json(RunConfig config);

}  // namespace tessera
