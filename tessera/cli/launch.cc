#include "tessera/cli/launch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <optional>

#include "tessera/base/clock.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/nearest.h"
#include "tessera/base/signals.h"
#include "tessera/base/strings.h"
#include "tessera/coord/cluster.h"
#include "tessera/coord/launcher.h"

namespace tessera::cli {
namespace {

Result<std::string> own_path() {
  std::array<char, 4096> path = {};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return internal_error("the path of this program is not known");
  return std::string(path.data(), static_cast<size_t>(size));
}

// "train", "data", ...: the first words of tessera's own.
std::vector<std::string> own_commands() {
  std::vector<std::string> words;
  for (const CommandMaker& make : all_commands()) {
    const std::string name = make()->text().name;
    words.push_back(name.substr(0, name.find(' ')));
  }
  return words;
}

class LaunchCommand : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "launch",
        .operands = "-- COMMAND [ARGUMENT ...]",
        .summary = "Runs a command as several processes on this machine, with a coordinator.",
        .details =
            "COMMAND is one of tessera's own (train, doctor, ...) or any program. Each process has "
            "TESSERA_COORDINATOR_ADDRESS, TESSERA_NUM_PROCESSES, TESSERA_PROCESS_ID and "
            "TESSERA_RESTART in its environment. Its lines appear with its number before them, "
            "and with --log-directory in a file of its own. What happens when one fails says "
            "--on-failure.\n\nThe exit code is that of the first process that failed, 128 + n for "
            "signal n. Ctrl-C and SIGTERM are passed on; a second one ends all at once.",
        .min_operands = 1,
        .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("processes", processes_).range(1, 100'000).help("How many processes to start.");
    f.field("devices_per_process", devices_)
        .range(1, 1'048'576)
        .help("CPU devices of each (TESSERA_DEVICES_PER_PROCESS).");
    f.choice("on_failure", options_.on_failure,
             {{"fail", coord::OnFailure::kFail},
              {"restart", coord::OnFailure::kRestart},
              {"elastic", coord::OnFailure::kElastic}})
        .help(
            "When a process fails: stop all; stop all and start them again; or let the others go "
            "on, and start it alone again.");
    f.field("max_restarts", options_.max_restarts)
        .range(0, 1'000'000)
        .help("How often to start again, in all.");
    f.field("min_processes", options_.min_processes)
        .range(1, 100'000)
        .help(
            "With --on-failure restart, who is the first to fail twice in a row is left out while "
            "so many are left; with elastic, all are stopped when there are fewer and no restarts "
            "left.");
    f.field("heartbeat_timeout_s", heartbeat_timeout_s_)
        .at_least(0.1)
        .help("Seconds without a heartbeat after which a process counts as dead.");
    f.field("log_directory", options_.log_directory)
        .help("Folder for process-0.log and so on: what each process wrote.");
    f.field("port", port_).range(0, 65535).help("The coordinator's, on loopback; 0: any.");
    f.field("journal", options_.server.journal)
        .help("Folder in which what the coordinator knows outlives it.");
    f.field("grace_s", grace_s_)
        .at_least(0)
        .help("Seconds between asking processes to stop after a failure, and killing them.");
    options_.server.mtls.fields(f);
  }

  Result<int> run(const Invocation& invocation) override {
    coord::MtlsConfig& mtls = options_.server.mtls;
    Status config = mtls.fill_from(coord::real_surroundings().environment);
    if (config.ok()) config = mtls.validate();
    if (!config.ok()) return usage_error(config);
    if (options_.min_processes > processes_) {
      return usage_error(invalid_argument("--min-processes is ", options_.min_processes,
                                          ", and --processes is ", processes_,
                                          ": at most so many can be left"));
    }
    options_.command = invocation.operands;
    const std::string word = options_.command[0];
    const std::vector<std::string> own = own_commands();
    if (std::find(own.begin(), own.end(), word) != own.end()) {
      ASSIGN_OR_RETURN(const std::string path, own_path());
      options_.command.insert(options_.command.begin(), path);
    }
    options_.server.processes = static_cast<int>(processes_);
    options_.server.bind = str_cat("127.0.0.1:", port_);
    options_.server.heartbeat_timeout = absl::Seconds(heartbeat_timeout_s_);
    options_.grace = absl::Seconds(grace_s_);
    if (devices_) options_.environment["TESSERA_DEVICES_PER_PROCESS"] = str_cat(*devices_);
    PosixFileSystem files;
    RealClock clock;
    // The second request ends the processes, and what they started; a third ends this one itself.
    const InterruptGuard guard(/*notice=*/nullptr, /*polled=*/2);
    const auto launched = coord::launch(
        options_, {.files = files,
                   .clock = clock,
                   .out = [&](const std::string& line) { invocation.out << line << std::endl; },
                   .err = [](const std::string& line) { std::cerr << line << std::endl; },
                   .signal = [&] { return guard.signal(); },
                   .insists = [&] { return guard.requests() > 1; }});
    const std::string near = nearest(word, own);
    if (launched.ok() || near.empty() || near == word) return launched;
    return Status(launched.status().code(),
                  str_cat(from_absl(launched.status().message()),
                          "; of tessera's own commands the nearest is ", near));
  }

 private:
  coord::LaunchOptions options_;
  int64_t processes_ = 1;
  std::optional<int64_t> devices_;
  int64_t port_ = 0;
  double heartbeat_timeout_s_ = 100;
  double grace_s_ = 30;
};

}  // namespace

std::unique_ptr<Command> launch_command() { return std::make_unique<LaunchCommand>(); }

}  // namespace tessera::cli
