#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "tessera/base/clock.h"

namespace tessera {

/// How fast steps are done, and so how long the rest takes: over all that a run does between steps,
/// such as validations and saves, but not over what came before its first step. Not thread-safe.
class Progress {
 public:
  /// `clock` must outlive this.
  Progress(int64_t total_steps, const Clock& clock) : total_(total_steps), clock_(clock) {}

  /// Says that `step` is complete. The first one only starts the watch.
  void done(int64_t step);
  int64_t step() const { return step_; }
  /// From the last ones' mean time; nothing before two steps are done.
  std::optional<absl::Duration> time_left() const;
  /// `[#####.....] 50 % 5/10, 1:03:20 left`, the bar `width` characters wide.
  std::string text(int width) const;

 private:
  const int64_t total_;
  const Clock& clock_;
  int64_t step_ = 0;
  std::optional<absl::Duration> last_;
  std::optional<double> seconds_per_step_;
};

/// "0:42", "12:05", "3:07:09", "2 days 03:07:09".
std::string duration_text(absl::Duration duration);

/// Columns of the terminal at standard error; nothing where that is none (a file, a pipe,
/// TERM=dumb).
std::optional<int> terminal_width();

}  // namespace tessera
