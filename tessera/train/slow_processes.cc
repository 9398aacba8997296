#include "tessera/train/slow_processes.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr double kShareOfStep = 0.1;  // what is less holds nobody up

// The lower one of two: of two processes the slower is compared with the other.
double median(std::vector<double> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string slow_text(int process, const ProcessReport& report, double usual, size_t count) {
  return absl::StrFormat(
      "process %d holds up the others: of a step of %.3f s it works %.3f s itself, %.3f s of which "
      "it waits for data; half of the %d processes work at most %.3f s",
      process, report.step_seconds, report.own_seconds, report.data_seconds, count, usual);
}

}  // namespace

std::vector<std::string> SlowProcesses::look(const std::map<int, ProcessReport>& reports) {
  std::vector<double> own;
  for (const auto& [process, report] : reports)
    if (report.steps > 0) own.push_back(report.own_seconds);
  if (own.size() < 2) return {};
  const double usual = median(own);
  std::vector<std::string> news;
  for (const auto& [process, report] : reports) {
    if (report.steps == 0) continue;
    const bool is_slow = report.own_seconds > factor_ * usual &&
                         report.own_seconds - usual > kShareOfStep * report.step_seconds;
    if (is_slow == slow_.contains(process)) {
      changing_.erase(process);
      continue;
    }
    if (changing_.insert(process).second) continue;
    changing_.erase(process);
    if (is_slow) {
      slow_.insert(process);
      news.push_back(slow_text(process, report, usual, own.size()));
    } else {
      slow_.erase(process);
      news.push_back(str_cat("process ", process, " holds up the others no longer"));
    }
  }
  return news;
}

}  // namespace tessera
