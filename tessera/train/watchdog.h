#pragma once

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "tessera/base/clock.h"
#include "tessera/base/thread.h"
#include "tessera/pjrt/client.h"
#include "tessera/train/hang_verdict.h"
#include "tessera/train/peers.h"
#include "tessera/train/slow_processes.h"

namespace tessera {

struct WatchdogOptions {
  absl::Duration hang_timeout = absl::Seconds(600);
  double slow_factor = 1.5;  ///< of SlowProcesses
  /// Between two reports to the others; less where the hang timeout is short.
  absl::Duration report_interval = absl::Seconds(10);
  /// For a process to end by itself once it is known that it, or the run, cannot go on.
  absl::Duration to_end = absl::Seconds(20);
  /// Ends this process, which does not end by itself.
  std::function<void()> end_process = [] { std::_Exit(1); };
};

/// Notices when a run does not get on although its processes live, and who holds it up. Each
/// process says where it is, to all, through the coordinator. One that has been at one place in the
/// loop of steps for the hang timeout looks where the others are, names the ones that the rest
/// wait for, with their stack and the collectives that the rest wait in, and has them declared
/// dead; what then becomes of the run is as with any death. A stuck process that is alone ends
/// itself. Where it cannot be told who holds up whom, all end.
///
/// Process 0 also tells who is slow, by its own share of the steps (SlowProcesses).
///
/// Times are those in which this process ran: while it is stopped none goes by.
class Watchdog {
 public:
  /// To be made by the thread that trains, in all processes. `peers` and `clock` outlive this.
  Watchdog(Peers& peers, const Clock& clock, WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // By the thread that trains:

  /// What it does from now on, as in "process 2 has been ...": "compiling".
  void enter(std::string_view activity);
  /// The same with the number of a step: "waiting for step" 12.
  void enter(std::string_view activity, int64_t step);
  /// The loop of steps begins; who stays at one place of it is stalled.
  void begin_training();
  /// A step is complete.
  void add_step(double seconds, double data_seconds);

  /// Asked what collectives its devices are in, while this lives.
  class Devices {
   public:
    Devices(Watchdog& watchdog, const pjrt::Client& client);
    ~Devices();
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;

   private:
    Watchdog& watchdog_;
  };

 private:
  struct Steps {
    int64_t count = 0;
    double seconds = 0, data_seconds = 0;
  };

  void run();
  bool look();
  void forgive_pause();
  void publish();
  Result<std::map<int, ProcessReport>> all_reports() const;
  void act(const HangVerdict& verdict, const std::map<int, ProcessReport>& reports);
  bool must_end(bool is_known_stuck);
  void fill_step_times(ProcessReport* report);

  Peers& peers_;
  const Clock& clock_;
  const WatchdogOptions options_;
  const absl::Duration interval_;  // between two looks
  const int trainer_;              // the thread that trains

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_, as all below
  bool trains_ = false;
  int64_t position_ = 0;
  std::string activity_ = "starting";
  absl::Duration entered_;
  Steps steps_;  // since they were last reported
  const pjrt::Client* client_ = nullptr;

  // Of the watching thread.
  absl::Duration looked_, reported_;
  ProcessReport own_;      // as it was last published
  absl::Duration waited_;  // for other processes, until then
  int judged_ = 0;         // looks in a row that gave a verdict
  std::optional<int64_t> acted_position_;
  absl::Duration acted_;
  SlowProcesses slow_;
  Thread watching_;  // last
};

}  // namespace tessera
