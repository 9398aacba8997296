#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera::e2e {

/// A command that runs beside the test, which reads its lines, of stdout and stderr, as they come.
/// It and all that it starts have `mark` in their environment, by which they are found. Killed with
/// this.
class Background {
 public:
  /// `command[0]` is a path; `folder` is where it starts.
  Background(const std::string& folder, std::vector<std::string> command, const std::string& mark);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  using TakeLine = std::function<void(const std::string& line)>;
  /// Waits for lines, for so long at most, and hands over those that came. False once the command
  /// has ended and all its lines were handed over.
  bool read(double seconds, const TakeLine& take);
  void signal(int number) const;
  /// After read() gave false; 128 + n when signal n ended it.
  int exit_code();

 private:
  pid_t child_ = -1;  // -1: it has ended, and its exit code is known
  int pipe_ = -1;
  int exit_code_ = -1;
  std::string text_;  // of the line that is not yet whole
};

/// Processes that have all of these "NAME=value" in their environment.
std::vector<pid_t> processes_with(const std::vector<std::string>& variables);

}  // namespace tessera::e2e
