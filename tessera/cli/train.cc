#include "tessera/cli/train.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "tessera/base/clock.h"
#include "tessera/base/environment.h"
#include "tessera/base/filesystem.h"
#include "tessera/base/log.h"
#include "tessera/base/signals.h"
#include "tessera/cli/processes.h"
#include "tessera/cli/recipe.h"
#include "tessera/storage/any_filesystem.h"
#include "tessera/train/elastic.h"
#include "tessera/train/explain_memory.h"
#include "tessera/train/trainer.h"

namespace tessera::cli {
namespace {

constexpr const char* kStopNotice =
    "\nstopping: the step under way is completed and saved; a second Ctrl-C leaves at once\n";
constexpr const char* kStopWithoutSaveNotice =
    "\nstopping: the step under way is completed, not saved; a second Ctrl-C leaves at once\n";

/// Of several processes the first logs to the terminal as one alone would, and every one to a file
/// in the output directory. One alone has none of these.
struct ProcessLog {
  std::shared_ptr<std::ofstream> file;
  std::unique_ptr<LogSink> sink;
  /// Whether this one logs to the terminal.
  std::shared_ptr<std::atomic<bool>> leads = std::make_shared<std::atomic<bool>>(false);

  static Result<ProcessLog> open(Peers& peers, const RunConfig& config, FileSystem& files,
                                 const Clock& clock) {
    if (peers.alone()) return ProcessLog();
    const std::string folder = join_path(config.output_directory, "logs");
    RETURN_IF_ERROR(annotate(files.create_dirs(folder), "output_directory"));
    const std::string path = join_path(folder, absl::StrFormat("process-%d.log", peers.process()));
    ProcessLog log;
    *log.leads = peers.leads();
    log.file = std::make_shared<std::ofstream>(path, std::ios::app);
    if (!*log.file) {
      return invalid_argument("output_directory: ", path,
                              " cannot be written to: ", std::strerror(errno));
    }
    log.sink = std::make_unique<LogSink>(
        [file = log.file, leads = log.leads](std::string_view text) {
          *file << text << std::flush;
          if (*leads) std::cerr << text << std::flush;
        },
        clock);
    return log;
  }

  /// What the program says as it ends, which goes to its own standard error.
  void end_with(const Status& error) const {
    if (file) *file << "error: " << from_absl(error.message()) << std::endl;
  }
};

/// That the object stores of a recipe answer, before hours of training go into what cannot be
/// saved.
Status check_stores(const RunConfig& config, AnyFileSystem& files) {
  const CheckpointConfig& checkpoint = config.checkpoint;
  if (!checkpoint.enabled) return absl::OkStatus();
  RETURN_IF_ERROR(files.check(config.checkpoint_directory(), /*writes=*/true));
  return files.check(checkpoint.initialize_from, /*writes=*/false);
}

// How many processes a launcher that left some out began with.
int all_processes(const std::optional<coord::ClusterSpec>& cluster) {
  const int present = cluster ? cluster->processes : 1;
  const char* text = std::getenv("TESSERA_ALL_PROCESSES");
  int all = 0;
  return text != nullptr && absl::SimpleAtoi(text, &all) ? std::max(all, present) : present;
}

class TrainCommand : public Command {
 public:
  CommandText text() const override {
    return {
        .name = "train",
        .operands = "RECIPE [KEY=VALUE ...]",
        .summary = "Trains a model; the same command resumes from its last checkpoint.",
        .details =
            "Goes on from the newest good checkpoint in output_directory. Ctrl-C saves and "
            "leaves; a second one leaves at once. A closed terminal (SIGHUP) and SIGTERM save "
            "and leave as well, unless nohup keeps SIGHUP away; a closed pipe ends only what is "
            "written to it.\n\nExit codes: 0 done, or stopped as asked; 1 failed, "
            "or a checkpoint "
            "could not be saved; 2 wrong usage or recipe; 130 left at once.",
        .min_operands = 1,
        .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    device_.fields(f);
    f.field("explain_memory", explain_memory_)
        .help("Print what each policy of training.remat costs in memory and FLOP, and leave.");
    f.field("print_config", print_config_).help("Print the resolved config as YAML, and leave.");
    f.field("debug", debug_).help("Log more.");
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    coord::ClusterConfig cluster_config;
    ASSIGN_OR_RETURN(const auto cluster, run_cluster(&cluster_config));
    RETURN_IF_ERROR(device_.fill_from_launcher(cluster ? cluster->processes : 1));
    std::string resolved;
    ASSIGN_OR_RETURN(const RunConfig config, read_recipe(invocation.operands, /*needs_recipe=*/true,
                                                         device_.overrides(), &resolved));
    if (print_config_) {
      invocation.out << resolved;
      return 0;
    }
    if (explain_memory_) {
      ASSIGN_OR_RETURN(Session session, Session::open(config));
      ASSIGN_OR_RETURN(const std::string table, explain_memory(session));
      invocation.out << table;
      return 0;
    }
    if (config.output_directory.empty()) {
      return usage_error(
          invalid_argument("output_directory is empty: say where checkpoints and metrics go"));
    }
    AnyFileSystem files;
    RealClock clock;
    RETURN_IF_ERROR(check_stores(config, files));
    ProcessLog log;  // outlives the processes' threads, which use it
    std::optional<ScopedLogSink> scoped;
    ASSIGN_OR_RETURN(const auto processes,
                     RunProcesses::join(cluster_config, cluster, files, clock));
    // Only now: who is asked to stop while it waits for the others has nothing to complete.
    const bool saves = config.checkpoint.enabled && config.checkpoint.save_on_stop;
    const InterruptGuard guard(saves ? kStopNotice : kStopWithoutSaveNotice);
    auto opened = ProcessLog::open(processes->peers(), config, files, clock);
    if (!opened.ok()) return processes->end_with(opened.status());
    log = *std::move(opened);
    if (log.sink) scoped.emplace(*log.sink);
    if (debug_) log_sink().set_least_level(LogLevel::kDebug);
    log_sink().print(resolved);
    const Result<std::string> cache = cache_folder();
    TrainEnvironment environment = {
        .files = files,
        .clock = clock,
        .log = log_sink(),
        .gemm_peak_folder = cache.ok() ? join_path(*cache, "gemm_peaks") : "",
        .stop_requested = [&] { return guard.interrupted(); },
        .peers = &processes->peers(),
        .network = {.coordinator = cluster ? cluster->coordinator : "",
                    .mtls = cluster_config.mtls},
        .watch = &processes->watch()};
    const int all = all_processes(cluster);
    if (cluster && all > cluster->processes) environment.all_processes = all;
    const Result<TrainOutcome> trained =
        processes->elastic_client() == nullptr
            ? train(config, environment)
            : train_elastic(config, environment, *processes->elastic_client(), processes->members(),
                            elastic_options(config, log));
    if (!trained.ok()) {
      const Status error = processes->end_with(trained.status());
      log.end_with(error);
      return error;
    }
    const TrainOutcome& outcome = *trained;
    if (outcome.stopped) {
      log_info("stopped after step ", outcome.step, " of ", config.training.steps,
               ", as asked; the same command goes on from there");
    } else if (outcome.reached_target) {
      log_info("done: validation loss ", *outcome.validation_loss, " at step ", outcome.step,
               " reaches training.target_eval_loss");
    } else {
      log_info("done: ", outcome.step, " steps");
    }
    RETURN_IF_ERROR(processes->leave());
    RETURN_IF_ERROR(
        annotate(outcome.save_failure, "the run went on, but a checkpoint could not be saved"));
    return 0;
  }

 private:
  static ElasticOptions elastic_options(const RunConfig& config, const ProcessLog& log) {
    return {.least_processes = config.fault_tolerance.min_processes,
            .timeout = absl::Seconds(config.fault_tolerance.timeout_s),
            .most_failures = config.fault_tolerance.max_failures,
            .on_group = [leads = log.leads](const Peers& peers) { *leads = peers.leads(); }};
  }

  DeviceOptions device_;
  bool explain_memory_ = false;
  bool print_config_ = false;
  bool debug_ = false;
};

}  // namespace

std::unique_ptr<Command> train_command() { return std::make_unique<TrainCommand>(); }

}  // namespace tessera::cli
