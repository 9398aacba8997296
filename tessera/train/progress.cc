#include "tessera/train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_format.h"
#include "tessera/base/strings.h"

namespace tessera {

void Progress::done(int64_t step) {
  const absl::Duration now = clock_.elapsed();
  if (last_ && step > step_) {
    const double seconds = absl::ToDoubleSeconds(now - *last_) / static_cast<double>(step - step_);
    // A running mean over some fifty steps: long enough to spread a save over those between saves.
    constexpr double kWeight = 0.02;
    seconds_per_step_ =
        seconds_per_step_ ? *seconds_per_step_ + kWeight * (seconds - *seconds_per_step_) : seconds;
  }
  last_ = now;
  step_ = step;
}

std::optional<absl::Duration> Progress::time_left() const {
  if (!seconds_per_step_) return std::nullopt;
  return absl::Seconds(*seconds_per_step_ *
                       static_cast<double>(std::max<int64_t>(total_ - step_, 0)));
}

std::string Progress::text(int width) const {
  const double share =
      total_ > 0 ? std::clamp(static_cast<double>(step_) / static_cast<double>(total_), 0.0, 1.0)
                 : 1.0;
  const int filled = static_cast<int>(share * width);
  const std::optional<absl::Duration> left = time_left();
  return str_cat("[", std::string(filled, '#'), std::string(width - filled, '.'), "] ",
                 static_cast<int>(share * 100), " % ", step_, "/", total_,
                 left ? str_cat(", ", duration_text(*left), " left") : std::string());
}

std::string duration_text(absl::Duration duration) {
  const int64_t seconds =
      std::max<int64_t>(absl::ToInt64Seconds(duration + absl::Milliseconds(500)), 0);
  const int64_t days = seconds / 86400;
  const int64_t hours = seconds / 3600 % 24;
  const int64_t minutes = seconds / 60 % 60;
  if (days > 0) {
    return absl::StrFormat("%d day%s %02d:%02d:%02d", days, days == 1 ? "" : "s", hours, minutes,
                           seconds % 60);
  }
  if (hours > 0) return absl::StrFormat("%d:%02d:%02d", hours, minutes, seconds % 60);
  return absl::StrFormat("%d:%02d", minutes, seconds % 60);
}

std::optional<int> terminal_width() {
  const char* term = std::getenv("TERM");
  if (!isatty(STDERR_FILENO) || (term && std::string_view(term) == "dumb")) return std::nullopt;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace tessera
