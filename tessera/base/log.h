#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "tessera/base/clock.h"
#include "tessera/base/strings.h"

/// Lines for the person who watches a run, on stderr: "14:03:07 warning: no huge pages".
///
/// This is the one piece of process-wide mutable state in this layer. A process has one stderr, so
/// the lock that keeps its lines whole and the row at its bottom (a progress bar) belong to the
/// process as well; passing them to every function that may have to warn would give no caller a
/// choice that it has. What a program computes never depends on it.
namespace tessera {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Where lines go. Safe for any thread.
class LogSink {
 public:
  using Writer = std::function<void(std::string_view)>;

  /// `write` gets whole lines, one call at a time. `clock` stamps them and must outlive this.
  LogSink(Writer write, const Clock& clock, LogLevel least = LogLevel::kInfo);

  void log(LogLevel level, std::string_view message);
  void set_least_level(LogLevel level);
  /// Keeps `row` (without a newline) below the lines from now on, redrawn in place; empty removes
  /// it. For terminals.
  void set_row(std::string row);
  /// Writes lines without a stamp or level, above the row. For a table or a config.
  void print(std::string_view text);

 private:
  void write_above_row(const std::string& text);

  Writer write_;
  const Clock& clock_;
  std::mutex mutex_;
  LogLevel least_;   // guarded by mutex_
  std::string row_;  // guarded by mutex_
};

/// The process's sink: stderr and the real clock, unless a ScopedLogSink lives.
LogSink& log_sink();

/// Sends the process's lines to `sink` while it lives. For tests; not to be used while other
/// threads log.
class ScopedLogSink {
 public:
  explicit ScopedLogSink(LogSink& sink);
  ~ScopedLogSink();
  ScopedLogSink(const ScopedLogSink&) = delete;
  ScopedLogSink& operator=(const ScopedLogSink&) = delete;

 private:
  LogSink* previous_;
};

template <typename... Args>
void log_debug(const Args&... args) {
  log_sink().log(LogLevel::kDebug, str_cat(args...));
}
template <typename... Args>
void log_info(const Args&... args) {
  log_sink().log(LogLevel::kInfo, str_cat(args...));
}
template <typename... Args>
void log_warning(const Args&... args) {
  log_sink().log(LogLevel::kWarning, str_cat(args...));
}
template <typename... Args>
void log_error(const Args&... args) {
  log_sink().log(LogLevel::kError, str_cat(args...));
}

}  // namespace tessera
