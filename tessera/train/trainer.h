#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/log.h"
#include "tessera/ckpt/manager.h"
#include "tessera/ckpt/saver.h"
#include "tessera/live/member_watch.h"
#include "tessera/runtime/jit.h"
#include "tessera/train/feed.h"
#include "tessera/train/goodput.h"
#include "tessera/train/local_tier.h"
#include "tessera/train/metrics.h"
#include "tessera/train/peers.h"
#include "tessera/train/session.h"
#include "tessera/train/step.h"

namespace tessera {

/// The world that a run happens in. All must outlive the call.
struct TrainEnvironment {
  FileSystem& files;
  Clock& clock;
  LogSink& log;
  /// Where measured GEMM peaks are kept from run to run; empty: each run measures.
  std::string gemm_peak_folder;
  /// Polled between steps: true saves and leaves.
  std::function<bool()> stop_requested = [] { return false; };
  /// The processes that train together; null: this one alone.
  Peers* peers = nullptr;
  PeerNetwork network = {};
  /// Hears of the devices' client while it is there; may be null.
  MemberWatch* watch = nullptr;
  /// How many processes the recipe counts on, where fewer may do; 0: it counts on `peers`.
  int all_processes = 0;
  /// Counts what time goes into; null: from the call on.
  Goodput* goodput = nullptr;
  /// Polled between steps: true saves and leaves, for other processes to be counted in.
  std::function<bool()> regroup_requested = nullptr;
  /// Told of each step that is complete.
  std::function<void(int64_t)> on_step = [](int64_t) {};
};

struct TrainOutcome {
  int64_t step = 0;                       ///< updates made in all
  bool stopped = false;                   ///< before the last step, because that was asked for
  bool regroup = false;                   ///< the same, to go on with other processes
  std::optional<double> validation_loss;  ///< the last one
  bool reached_target = false;            ///< ended early, at training.target_eval_loss
  Status save_failure;                    ///< the first save that failed; the run went on
};

/// Trains as the config says, from the newest good checkpoint of its output directory if there is
/// one. Errors: what is wrong with config, data or devices; a loss or gradient that is not finite,
/// which names the step, the first bad gradient and the last good checkpoint, and saves nothing of
/// that state.
Result<TrainOutcome> train(const RunConfig& config, const TrainEnvironment& environment);

}  // namespace tessera
