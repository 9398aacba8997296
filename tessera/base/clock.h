#pragma once

#include <mutex>

#include "absl/time/time.h"

namespace tessera {

/// The only source of time; passed to whatever measures, waits or stamps. Safe for any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  /// The time of day: for stamps that people and other machines read. It may jump.
  virtual absl::Time now() const = 0;
  /// Time since some fixed moment: for durations and deadlines. It never goes back.
  virtual absl::Duration elapsed() const = 0;
  virtual void sleep(absl::Duration duration) = 0;
};

class RealClock final : public Clock {
 public:
  absl::Time now() const override;
  absl::Duration elapsed() const override;
  void sleep(absl::Duration duration) override;
};

/// A clock that moves only when told: by advance(), or by sleep(), which returns at once.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(absl::Time start = absl::FromUnixSeconds(1'700'000'000)) : start_(start) {}
  absl::Time now() const override;
  absl::Duration elapsed() const override;
  void sleep(absl::Duration duration) override { advance(duration); }
  /// Moves forward; `duration` must not be negative.
  void advance(absl::Duration duration);

 private:
  const absl::Time start_;
  mutable std::mutex mutex_;
  absl::Duration elapsed_ = absl::ZeroDuration();  // guarded by mutex_
};

}  // namespace tessera
