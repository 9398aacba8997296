#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tessera/base/clock.h"
#include "tessera/base/json.h"

namespace tessera {

/// What a run's time goes into, from its first start to now, over all its restarts: every second is
/// of one kind, so that they sum to the wall time. What is known of earlier starts is what the
/// checkpoint says that the run goes on from; the time since that was saved is lost, or, where the
/// run was stopped on purpose, no time of the run at all but listed apart.
///
/// For one thread: the one that trains.
class Goodput {
 public:
  enum Kind {
    kStart,  ///< Reading settings, meeting the others, opening devices and data, restoring.
    kCompile,
    kTraining,
    kDataWait,    ///< The loop stood still for a batch.
    kCheckpoint,  ///< The loop stood still for a save.
    kValidation,
    kLost,     ///< To failures: steps made again, and until they were.
    kStopped,  ///< Between a stop that was asked for and the next start.
  };
  static constexpr int kKinds = 8;

  /// The run begins, or begins again, now, with kStart. `clock` outlives this.
  explicit Goodput(const Clock& clock);

  /// Time from now on is of this kind; the result: of which it was until now.
  Kind enter(Kind kind);
  /// Enters a kind, and the one before it at its end.
  class Scope {
   public:
    Scope(Goodput& goodput, Kind kind) : goodput_(goodput), before_(goodput.enter(kind)) {}
    ~Scope() { goodput_.enter(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Goodput& goodput_;
    Kind before_;
  };

  /// The run goes on in this process, after a failure: what was done since it began, or since the
  /// checkpoint that it went on from, counts as lost unless resumed() tells of a newer one.
  void begin_again();
  /// The run goes on from a checkpoint that says `saved`, to_json()'s of then. What is no such
  /// value is taken for nothing.
  void resumed(const Json& saved);

  /// Seconds of each kind until now.
  std::array<double, kKinds> seconds() const;
  /// Since the first start.
  double wall_seconds() const;
  /// For a checkpoint. `stops`: the run is left in order after it.
  Json to_json(bool stops) const;

  static std::string_view name(Kind kind);

 private:
  double now() const;  // Unix time

  const Clock& clock_;
  std::array<double, kKinds> before_ = {};  // earlier starts
  std::array<double, kKinds> since_ = {};   // this one
  double first_start_ = 0, start_ = 0, entered_ = 0;
  Kind kind_ = kStart;
};

/// "training 81.2 %, compile 9.1 %, ...", the largest first, without what is nothing.
std::string to_text(const std::array<double, Goodput::kKinds>& seconds);

}  // namespace tessera
