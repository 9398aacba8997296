#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/status.h"
#include "tessera/coord/client.h"
#include "tessera/live/member_watch.h"
#include "tessera/live/shared_errors.h"
#include "tessera/runtime/runtime.h"

namespace tessera {

struct LiveDevicesOptions {
  /// Ids, of any processes, at least one of this one's; all processes of these devices give the
  /// same. None: all devices.
  std::vector<int64_t> devices = {};
  /// An error of one process's own in a block (as when it lacks memory) is everyone's: what waits
  /// for that process fails at once, and all get the same status. Else the others are not told, and
  /// may commit a block that failed there. The same in all processes.
  bool share_errors = true;
  /// How long this process waits, at the beginning and at the end of a block, for the others that
  /// live. A process that is started again is waited for from when it has registered.
  absl::Duration timeout = absl::InfiniteDuration();
};

/// Blocks of work over the devices of those processes that live, of which all agree whether they
/// succeeded. In a loop, with one call of run(), at one place of the program:
///
///     while (step < steps) {
///       Array next;
///       const Status done = live->run([&](std::span<const int64_t> devices) -> Status {
///         // a mesh over `devices`, a step of training on it, and next.await()
///       });
///       if (done.ok()) state = next, ++step;               // the same on all
///       else if (failed_devices(done).empty()) return done;  // else once more, without the failed
///     }
///
/// Processes meet once a block, at its end (before the first, also at its beginning): there they
/// learn who lives, which is also the devices of the next one. A process that is started again
/// meets the others there, and is in the next block. What a block computes must be awaited in it,
/// or only its beginning is agreed on.
///
/// Needs a coordinator that is recoverable. To be used by one thread; a process works on one block
/// at a time.
class LiveDevices {
 public:
  /// `watch` gets what `coordinator` tells (on_change, on_failure), and is attached to the
  /// runtime's client for as long as this lives, where it is not already. All must outlive this.
  /// Errors: FAILED_PRECONDITION where the coordinator is not recoverable or the runtime was not
  /// made together with its processes; INVALID_ARGUMENT for devices that are unknown, there twice,
  /// or none of this process.
  static Result<std::unique_ptr<LiveDevices>> create(Runtime& runtime, coord::Client& coordinator,
                                                     MemberWatch& watch,
                                                     LiveDevicesOptions options = {});
  ~LiveDevices();
  LiveDevices(const LiveDevices&) = delete;
  LiveDevices& operator=(const LiveDevices&) = delete;

  /// A block: called with the live devices, ascending, the same on all processes.
  using Body = std::function<Status(std::span<const int64_t> devices)>;

  /// Calls `body` once, and waits for the others. OK: it succeeded everywhere. Where processes of
  /// its devices died, or were started again, while it ran: UNAVAILABLE with failed_devices(),
  /// whatever the body returned, on all that live. Else the body's error: with share_errors the
  /// same one on all, of a process that it names. Devices that came during the block do not fail
  /// it. Any other error is of this process alone, which takes part no longer: it was declared
  /// dead, has lost the coordinator, or waited for longer than the timeout.
  Status run(const Body& body);

  /// Who takes part in the newest block that has begun; before one, nobody.
  const std::vector<coord::ProcessId>& processes() const { return block_; }

 private:
  LiveDevices(Runtime& runtime, coord::Client& coordinator, MemberWatch& watch,
              LiveDevicesOptions options);
  Status check_and_list();
  Result<coord::LiveSet> ask();
  void begin(const coord::LiveSet& live);
  Status end(const coord::LiveSet& before, const Status& own);
  std::vector<int64_t> devices_of(const std::vector<coord::ProcessId>& processes) const;

  Runtime& runtime_;
  coord::Client& coordinator_;
  MemberWatch& watch_;
  const LiveDevicesOptions options_;
  bool attached_ = false;
  std::vector<std::pair<int64_t, int>> devices_;  // with their processes, ascending
  std::vector<int> processes_;                    // of the devices, ascending
  std::optional<coord::LiveSet> next_;            // who is in the next block
  std::vector<coord::ProcessId> block_;
  std::vector<int> others_;  // of the block; of a thread of errors_ too while one runs
  bool launch_anew_ = true;  // launches so far are no longer the same on all
  std::unique_ptr<SharedErrors> errors_;
};

/// The devices whose processes died or were started again while a block ran, ascending: of a status
/// that LiveDevices::run() gave for that reason; else none.
std::vector<int64_t> failed_devices(const Status& status);

}  // namespace tessera
