#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// The program under test, run as a child process in a folder of its own.
namespace tessera::e2e {

/// The program's path.
std::string program();
/// In a child: becomes the command, with these as its standard output and error.
[[noreturn]] void become(const std::string& folder, std::vector<std::string> command, int out,
                         int err);

/// How a run of the program ended.
struct Ended {
  int exit_code = -1;  ///< 128 + n when signal n ended it
  std::string out;
  std::string err;
};

/// A folder with a small corpus and a recipe for a tiny model on it; removed at the end.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

  /// Runs `tessera ARGUMENTS` here. `on_error_line` sees each line of stderr and may send a signal
  /// by its return value.
  using LineWatcher = std::function<std::optional<int>(const std::string& line)>;
  Ended run(const std::vector<std::string>& arguments, const LineWatcher& on_error_line = {}) const;
  /// Runs a shell's script here, in which "$tessera" is the program.
  Ended shell(const std::string& script) const;
  /// `tessera train recipe.yaml OVERRIDES`.
  Ended train(std::vector<std::string> overrides, const LineWatcher& on_error_line = {}) const;

  /// Step → the loss as metrics.jsonl has it, digit for digit; or the number under another key.
  /// `output` is the run's output_directory.
  std::map<int, std::string> losses(const std::string& output,
                                    const std::string& key = "loss") const;

 private:
  Ended start(std::vector<std::string> command, const LineWatcher& on_error_line) const;

  std::string folder_;
};

/// The step that a line reports ("... step 7/12  loss ..."), if it does.
std::optional<int> reported_step(const std::string& line);

}  // namespace tessera::e2e
