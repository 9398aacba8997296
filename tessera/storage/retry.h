#pragma once

#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "tessera/base/clock.h"

namespace tessera {

/// How often and how long to try again what failed for the moment.
struct RetryPolicy {
  int attempts = 10;  // the first one counted
  absl::Duration first =
      absl::Milliseconds(200);  // longest wait before the second attempt; then doubled
  absl::Duration longest = absl::Seconds(20);  // no wait is longer, unless the server asks for it
  absl::Duration deadline = absl::Minutes(5);  // from the first attempt on: no wait ends later
};

/// The waits between the attempts at one thing: exponential backoff with full jitter, which is a
/// wait anywhere between nothing and a bound that doubles, so that many that failed together do not
/// come back together. One thread.
class Retrier {
 public:
  /// In [0, 1).
  using Random = std::function<double()>;

  Retrier(const RetryPolicy& policy, Clock& clock, Random random);

  /// After an attempt failed: waits, at least for what the server asked, and returns true; false,
  /// at once, when there is no attempt or no time left.
  bool wait(std::optional<absl::Duration> asked = std::nullopt);
  /// Some of it was done: the backoff begins anew, the deadline stays.
  void progressed() { failures_ = 0; }

  /// Failed so far, or about to.
  int attempts() const { return attempts_; }
  absl::Duration left() const;

 private:
  const RetryPolicy policy_;
  Clock& clock_;
  const Random random_;
  const absl::Duration start_;
  int attempts_ = 1;
  int failures_ = 0;  // since there was progress
};

/// Random numbers that differ in every process. Safe for any thread.
Retrier::Random seeded_random();

}  // namespace tessera
