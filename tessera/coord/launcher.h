#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/status.h"
#include "tessera/coord/server.h"

namespace tessera::coord {

/// What happens when a process fails.
enum class OnFailure {
  kFail,     ///< All are stopped.
  kRestart,  ///< All are stopped, and started again.
  kElastic,  ///< The others go on, and it alone is started again.
};

struct LaunchOptions {
  std::vector<std::string> command;  ///< the program's path or name, and its arguments
  ServerOptions server;              ///< its `processes` says how many are started
  std::map<std::string, std::string> environment;  ///< added to every process's own
  /// Folder for process-0.log and so on, each with all that the process wrote; empty: none.
  std::string log_directory;
  OnFailure on_failure = OnFailure::kFail;  ///< kElastic makes the server recoverable.
  int64_t max_restarts = 10;                ///< In all.
  /// kRestart: a process that was the first to fail twice in a row is left out, while so many are
  /// left. kElastic: with fewer than these, and no restarts left, all are stopped.
  int64_t min_processes = 1;
  /// Between asking the others to stop after a failure and killing them.
  absl::Duration grace = absl::Seconds(30);
};

/// What a launch needs of the process that it runs in.
struct LaunchEnvironment {
  FileSystem& files;
  Clock& clock;
  /// Gets whole lines, "[3] text", of the processes' standard output and errors.
  std::function<void(const std::string&)> out, err;
  /// The signal that was sent to this process, or 0; passed on to all.
  std::function<int()> signal;
  /// Whether a signal was sent again: then all are killed at once, with what they started.
  std::function<bool()> insists = [] { return false; };
};

/// Starts a coordinator and the processes on this machine, each with TESSERA_COORDINATOR_ADDRESS,
/// TESSERA_NUM_PROCESSES, TESSERA_PROCESS_ID, TESSERA_LOCAL_PROCESS_ID,
/// TESSERA_EXTERNAL_COORDINATOR and TESSERA_RESTART (how often before), and waits for them.
///
/// The result is the exit code: 0 when all ended well, or, with kElastic, all that were left; else
/// that of the first that did not, 128 + n for signal n. One that ends with 2, wrong usage, is
/// never started again. A process that the coordinator has declared dead is killed, if it still
/// runs. Where some are left out, TESSERA_ALL_PROCESSES says how many there were. Processes do not
/// outlive this one.
Result<int> launch(const LaunchOptions& options, const LaunchEnvironment& environment);

}  // namespace tessera::coord
