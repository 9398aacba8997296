#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/background.h"
#include "tests/e2e/chaos_events.h"
#include "tests/e2e/coordinator_proxy.h"
#include "tests/e2e/several_processes.h"
#include "tests/e2e/small_disk.h"

namespace tessera::e2e {

inline constexpr ChaosOptions kChaos = {.processes = 4, .heartbeat_timeout_s = 5};
/// Of the run and of the one to compare it with. Little to compile: every start does it.
inline const Settings kChaosSettings = {"model.layers=1",
                                        "training.scan_layers=false",
                                        "schedule.steps=100000",
                                        "training.eval_batches=0",
                                        "checkpoint.interval=40",
                                        "checkpoint.keep=2",
                                        "logging.tensorboard=false",
                                        "logging.interval=1",
                                        "logging.examples=true"};

/// By a clock that never goes back.
double now_s();

/// A run under launch, with a proxy before its coordinator and its files on small disks, to which
/// events happen. Reads what the run says, and expects of it that it makes all steps in their order
/// and goes on from the newest checkpoint.
class ChaosRun {
 public:
  /// `mode` is launch's --on-failure. To be made before there are threads.
  ChaosRun(const Workspace& workspace, const std::string& mode);
  void start();
  /// Lets it happen, until it is over.
  void strike(const Event& event);
  /// Waits for its first checkpoint, which says how long a start takes here.
  bool has_begun();
  /// Waits until all devices train again, after `resumes` in all at least. False where that takes
  /// longer than the bound, or the run has ended.
  bool goes_on(int64_t resumes);
  /// Asks it to stop, and waits for its end. The step at which it stopped, or -1.
  int64_t stop();
  void read_for(double seconds);

  /// What happened and was said, but for steps.
  const std::string& story() const { return story_; }
  void tell(const std::string& text);
  int exit_code() { return command_->exit_code(); }
  bool disks_may_be_full() const { return disk_ && near_; }
  double bound_s() const { return bound_s_; }
  /// Whether a save failed since the devices were opened, of which the run tells at its end.
  bool save_failed() const { return save_failed_; }
  /// The longest that this process itself was kept waiting while the last event happened.
  double longest_gap_s() const { return longest_gap_s_; }
  int64_t resumes() const { return resumes_; }
  int64_t steps_made() const { return steps_made_; }
  int connections() const { return proxy_.passed(); }
  std::vector<pid_t> left_over() const { return processes_with({mark_}); }

 private:
  std::vector<std::string> targets() const;
  void signal_all(const std::vector<int>& processes, int number);
  void take(const std::string& line);
  void fill_disk(const SmallDisk& disk, double seconds);
  void take_step(int64_t step);
  void check_goes_on_from(int64_t step) const;
  void look_for_commits();

  const Workspace& workspace_;
  const std::string mark_, mode_;
  const std::unique_ptr<SmallDisk> disk_, near_;  // before the proxy's thread; null: none may be
  CoordinatorProxy proxy_;
  std::optional<Background> command_;
  double begin_ = 0, looked_ = 0;
  double bound_s_ = 300;  // until it goes on
  double longest_gap_s_ = 0;
  bool ended_ = false;
  std::string story_;

  // Of its lines.
  int64_t next_step_ = 1;
  int64_t steps_made_ = 0;   // in all, also again
  int64_t steps_since_ = 0;  // the mesh was made, or an event was over
  bool is_first_ = true;     // the next step is the first of a mesh
  int64_t resumes_ = 0;
  int64_t devices_ = 0;  // that train
  bool save_failed_ = false;
  int64_t stopped_at_ = -1;
  // When a committed step was seen: what is gone on from must not be older.
  std::deque<std::pair<double, int64_t>> commits_;
};

}  // namespace tessera::e2e
