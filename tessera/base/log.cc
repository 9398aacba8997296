#include "tessera/base/log.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/time/time.h"

namespace tessera {
namespace {

constexpr std::string_view kClearRow = "\r\033[K";

std::string_view level_text(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

// Straight to the descriptor: a stream would need flushing, and iostreams are shared with the
// libraries we load.
void write_to_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;  // nobody is listening
    text.remove_prefix(static_cast<size_t>(written));
  }
}

LogSink& stderr_sink() {
  static RealClock clock;
  // Never destroyed: threads may log until the process ends.
  static LogSink* const sink = new LogSink(write_to_stderr, clock);
  return *sink;
}

std::atomic<LogSink*> scoped_sink{nullptr};

}  // namespace

LogSink::LogSink(Writer write, const Clock& clock, LogLevel least)
    : write_(std::move(write)), clock_(clock), least_(least) {}

void LogSink::log(LogLevel level, std::string_view message) {
  const std::string time = absl::FormatTime("%H:%M:%S ", clock_.now(), absl::LocalTimeZone());
  std::lock_guard lock(mutex_);
  if (level < least_) return;
  write_above_row(str_cat(time, level_text(level), message, message.ends_with('\n') ? "" : "\n"));
}

void LogSink::set_least_level(LogLevel level) {
  std::lock_guard lock(mutex_);
  least_ = level;
}

void LogSink::set_row(std::string row) {
  std::lock_guard lock(mutex_);
  if (row.empty() && row_.empty()) return;
  row_ = std::move(row);
  write_(str_cat(kClearRow, row_));
}

void LogSink::print(std::string_view text) {
  if (text.empty()) return;
  std::lock_guard lock(mutex_);
  write_above_row(str_cat(text, text.ends_with('\n') ? "" : "\n"));
}

void LogSink::write_above_row(const std::string& text) {
  write_(row_.empty() ? text : str_cat(kClearRow, text, row_));
}

LogSink& log_sink() {
  LogSink* const scoped = scoped_sink.load();
  return scoped ? *scoped : stderr_sink();
}

ScopedLogSink::ScopedLogSink(LogSink& sink) : previous_(scoped_sink.exchange(&sink)) {}
ScopedLogSink::~ScopedLogSink() { scoped_sink.store(previous_); }

}  // namespace tessera
