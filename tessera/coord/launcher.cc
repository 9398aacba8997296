#include "tessera/coord/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "tessera/base/log.h"
#include "tessera/base/strings.h"
#include "tessera/coord/cluster.h"

namespace tessera::coord {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(20);  // how often for ends and signals
constexpr absl::Duration kLastWords = absl::Seconds(1);   // for output of a process that has ended
constexpr int kWrongUsage = 2;                            // an exit code that no restart changes

// One stream of a process, cut into lines.
class LineReader {
 public:
  void open(int descriptor) { descriptor_ = descriptor; }
  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  /// Reads what is there; false at the end.
  template <typename Take>
  void read_some(const Take& take) {
    char bytes[65536];
    const ssize_t count = read(descriptor_, bytes, sizeof(bytes));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return close_with(take);
    text_.append(bytes, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      take(text_.substr(begin, end - begin));
    }
    text_.erase(0, begin);
    constexpr size_t kLongest = 1 << 20;  // of a "line" without an end
    if (text_.size() > kLongest) take(std::exchange(text_, {}));
  }

  template <typename Take>
  void close_with(const Take& take) {
    if (!text_.empty()) take(std::exchange(text_, {}));
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_ = -1;
  std::string text_;
};

struct Child {
  int process = 0;
  int restarts = 0;
  pid_t pid = -1;  // -1: none runs
  LineReader out, err;
  std::unique_ptr<WritableFile> log;
  std::optional<int> exit_code;
  absl::Duration ended;
  uint64_t start_before = 0;  // the coordinator's number of this process's start before this one
};

/// Kills what launch has started where launch is killed itself: by then nobody else knows of the
/// processes that its own started, which the kernel does not end with their parents. A process of
/// its own that waits for the end of a pipe, to which the numbers of groups are written.
class Keeper {
 public:
  /// Before there are threads and other descriptors.
  Status start() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return internal_error("no pipe: ", std::strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) keep(ends[0]);
    const int error = errno;
    close(ends[0]);
    pipe_ = ends[1];
    if (pid < 0) return internal_error("no process: ", std::strerror(error));
    pid_ = pid;
    return absl::OkStatus();
  }
  ~Keeper() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    if (pipe_ >= 0) close(pipe_);
  }

  void started(pid_t group) const { tell(group); }
  void ended(pid_t group) const { tell(-group); }

 private:
  void tell(pid_t number) const { (void)!write(pipe_, &number, sizeof number); }

  // Never returns. The allocator's lock is nobody's: this was forked from the only thread.
  [[noreturn]] static void keep(int pipe) {
    setsid();  // a terminal's signals are not for it
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_IGN);
    if (pipe != 0) dup2(pipe, 0);
    close_range(1, ~0U, 0);  // nobody may wait for the end of launch's output because of this
    std::set<pid_t> groups;
    pid_t number = 0;
    while (read(0, &number, sizeof number) == sizeof number) {
      if (number > 0) groups.insert(number);
      if (number < 0) groups.erase(-number);
    }
    for (const pid_t group : groups) kill(-group, SIGKILL);
    _exit(0);
  }

  pid_t pid_ = -1;
  int pipe_ = -1;
};

class Launch {
 public:
  Launch(const LaunchOptions& options, const LaunchEnvironment& environment)
      : options_(options), environment_(environment), processes_(options.server.processes) {}
  ~Launch() {
    for (Child& child : children_) {
      if (child.pid > 0) {
        kill(-child.pid, SIGKILL);
        waitpid(child.pid, nullptr, 0);
      }
    }
  }

  Result<int> run() {
    RETURN_IF_ERROR(prepare());
    for (int restarts = 0;; ++restarts) {
      RETURN_IF_ERROR(start_server());
      for (Child& child : children_) {
        started_all_ = environment_.signal() == 0;
        if (!started_all_) break;  // those that run get the signal below
        if (!is_elastic()) child.restarts = restarts;
        RETURN_IF_ERROR(start(child));
      }
      ASSIGN_OR_RETURN(const int code, wait_for_all());
      const bool again = options_.on_failure == OnFailure::kRestart && code != 0 && !signal_ &&
                         code != kWrongUsage && restarts < options_.max_restarts;
      if (!again) return code;
      leave_out_who_fails_again();
      log_warning("launch: starting all ", std::ssize(children_), " again (restart ", restarts + 1,
                  " of ", options_.max_restarts, ")");
    }
  }

 private:
  bool is_elastic() const { return options_.on_failure == OnFailure::kElastic; }

  // Each process has two pipes' ends here, and perhaps a log; the coordinator some connections.
  Status check_open_files() const {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    const int64_t each = options_.log_directory.empty() ? 2 : 3;
    constexpr int64_t kOthers = 64;
    const int64_t most = (static_cast<int64_t>(limit.rlim_cur) - kOthers) / each;
    if (limit.rlim_max == RLIM_INFINITY || options_.server.processes <= most)
      return absl::OkStatus();
    return invalid_argument("--processes is ", options_.server.processes, ", and with the ",
                            limit.rlim_cur, " files that may be open at a time (ulimit -n) ",
                            "at most ", most, " can be started: use --processes ", most,
                            ", or raise the limit");
  }

  Status prepare() {
    RETURN_IF_ERROR(check_open_files());
    RETURN_IF_ERROR(keeper_.start());
    if (!options_.log_directory.empty()) {
      RETURN_IF_ERROR(environment_.files.create_dirs(options_.log_directory));
    }
    children_.resize(static_cast<size_t>(options_.server.processes));
    for (size_t i = 0; i < children_.size(); ++i) {
      children_[i].process = static_cast<int>(i);
      if (options_.log_directory.empty()) continue;
      const std::string path = join_path(options_.log_directory, str_cat("process-", i, ".log"));
      ASSIGN_OR_RETURN(children_[i].log, environment_.files.create_file(path));
    }
    return absl::OkStatus();
  }

  Status start_server() {
    ServerOptions options = options_.server;
    options.processes = static_cast<int>(children_.size());
    options.recoverable = is_elastic();
    if (server_) {
      options.bind = address();  // the same again
      // What the processes of before knew is no longer true.
      if (!options.journal.empty()) {
        server_ = nullptr;
        RETURN_IF_ERROR(environment_.files.remove_tree(join_path(options.journal, "journal")));
      }
    }
    server_ = nullptr;
    ASSIGN_OR_RETURN(server_, Server::start(options, environment_.files, environment_.clock));
    port_ = server_->port();
    return absl::OkStatus();
  }

  std::string address() const { return str_cat("127.0.0.1:", port_); }

  std::vector<std::string> environment_of(const Child& child) const {
    std::map<std::string, std::string> variables = real_surroundings().environment;
    const auto set = [&](const std::string& name, const std::string& text) {
      variables[name] = text;
    };
    for (const auto& [name, text] : options_.environment) set(name, text);
    for (const auto& [name, text] : options_.server.mtls.environment()) set(name, text);
    set("TESSERA_COORDINATOR_ADDRESS", address());
    set("TESSERA_NUM_PROCESSES", str_cat(children_.size()));
    set("TESSERA_ALL_PROCESSES", str_cat(processes_));
    set("TESSERA_PROCESS_ID", str_cat(child.process));
    set("TESSERA_LOCAL_PROCESS_ID", str_cat(child.process));
    set("TESSERA_EXTERNAL_COORDINATOR", "true");
    set("TESSERA_RESTART", str_cat(child.restarts));
    std::vector<std::string> texts;
    for (const auto& [name, text] : variables) texts.push_back(str_cat(name, "=", text));
    return texts;
  }

  Status start(Child& child) {
    int out[2], err[2], failed[2];
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
      return internal_error("no pipe: ", std::strerror(errno));
    }
    // Nothing is allocated between fork and exec: other threads may hold the allocator's lock.
    std::vector<std::string> variables = environment_of(child);
    std::vector<std::string> words = options_.command;
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) become(argv.data(), envp.data(), {out[1], err[1], failed[1]}, parent);
    const int fork_error = errno;
    for (const int end : {out[1], err[1], failed[1]}) close(end);
    if (pid < 0) return internal_error("no process: ", std::strerror(fork_error));
    setpgid(pid, pid);  // the child does it as well; whoever comes first
    keeper_.started(pid);
    int error = 0;
    const ssize_t count = read(failed[0], &error, sizeof(error));
    close(failed[0]);
    child.pid = pid;
    child.start_before = server_->incarnation(child.process);
    child.exit_code = std::nullopt;
    for (const int end : {out[0], err[0]}) fcntl(end, F_SETFL, O_NONBLOCK);
    child.out.open(out[0]);
    child.err.open(err[0]);
    if (count == sizeof(error)) {
      return invalid_argument(options_.command[0], " cannot be run: ", std::strerror(error));
    }
    return absl::OkStatus();
  }

  struct Ends {
    int out, err, failed;
  };

  [[noreturn]] static void become(char** argv, char** envp, Ends ends, pid_t parent) {
    setpgid(0, 0);  // so that a signal reaches what it starts, and the terminal's do not come twice
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(137);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(ends.out, STDOUT_FILENO);
    dup2(ends.err, STDERR_FILENO);
    signal(SIGHUP, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    execvpe(argv[0], argv, envp);
    const int error = errno;
    if (write(ends.failed, &error, sizeof(error)) < 0) _exit(126);
    _exit(127);
  }

  Result<int> wait_for_all() {
    first_failure_ = 0;
    stopping_ = std::nullopt;
    bool killed = false;
    while (true) {
      read_output();
      for (Child& child : children_) RETURN_IF_ERROR(look_at(child));
      pass_signal();
      if (environment_.insists()) return 128 + signal_;  // all are killed as this ends
      const bool any = std::any_of(children_.begin(), children_.end(), [](const Child& child) {
        return child.pid > 0 || child.out.is_open() || child.err.is_open();
      });
      const bool cut_short = signal_ && first_failure_ == 0 && !started_all_;
      if (!any) return cut_short ? 128 + signal_ : first_failure_;
      const Status broken = server_->broken();
      if (!broken.ok() && !stopping_) stop_all(1, "the coordinator has stopped");
      if (stopping_ && !signal_ && !killed &&
          environment_.clock.elapsed() - *stopping_ > options_.grace) {
        killed = true;
        log_warning("launch: killing those that did not stop within ",
                    absl::FormatDuration(options_.grace));
        signal_all(SIGKILL);
      }
    }
  }

  void read_output() {
    std::vector<pollfd> entries;
    std::vector<std::pair<Child*, LineReader*>> readers;
    for (Child& child : children_) {
      for (LineReader* reader : {&child.out, &child.err}) {
        if (!reader->is_open()) continue;
        entries.push_back({.fd = reader->descriptor(), .events = POLLIN, .revents = 0});
        readers.push_back({&child, reader});
      }
    }
    poll(entries.data(), entries.size(), static_cast<int>(absl::ToInt64Milliseconds(kLook)));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      const auto [child, reader] = readers[i];
      reader->read_some(taker(*child, reader == &child->out));
    }
  }

  std::function<void(const std::string&)> taker(Child& child, bool is_out) {
    return [this, &child, is_out](const std::string& line) {
      (is_out ? environment_.out : environment_.err)(str_cat("[", child.process, "] ", line));
      if (!child.log) return;
      const Status written = child.log->append(str_cat(line, "\n"));
      if (written.ok()) return;
      log_warning("launch: the log of process ", child.process,
                  " ends here: ", from_absl(written.message()));
      child.log = nullptr;
    };
  }

  Status look_at(Child& child) {
    if (child.pid > 0) {
      int status = 0;
      if (waitpid(child.pid, &status, WNOHANG) != child.pid) {
        kill_if_declared_dead(child);
        return absl::OkStatus();
      }
      // What it started and left behind ends with it.
      kill(-child.pid, SIGKILL);
      keeper_.ended(child.pid);
      child.pid = -1;
      child.ended = environment_.clock.elapsed();
      child.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    // Somebody outside its group may hold its output open for ever.
    const bool late = environment_.clock.elapsed() - child.ended > kLastWords;
    if (late) {
      child.out.close_with(taker(child, true));
      child.err.close_with(taker(child, false));
    }
    if (!child.exit_code || child.out.is_open() || child.err.is_open()) return absl::OkStatus();
    const int code = *std::exchange(child.exit_code, std::nullopt);
    // Also of one that ended well: others may wait for it.
    server_->process_ended(child.process, how_it_ended(code));
    if (code == 0) return absl::OkStatus();
    return failed(child, code);
  }

  // It is of no use to the others, and may hold what they need, as the lock of a folder.
  void kill_if_declared_dead(Child& child) {
    if (!server_->is_dead(child.process)) return;
    const uint64_t start = server_->incarnation(child.process);
    if (start == child.start_before) return;  // that one has ended
    child.start_before = start;
    log_warning("launch: killing process ", child.process, ", which was declared dead");
    kill(-child.pid, SIGKILL);
  }

  static std::string how_it_ended(int code) {
    if (code == 0) return "ended with exit code 0 before it had left the others";
    return code > 128 ? str_cat("was ended by signal ", code - 128)
                      : str_cat("failed with exit code ", code);
  }

  Status failed(Child& child, int code) {
    const std::string how = how_it_ended(code);
    if (!stopping_ && !signal_) note_failure(child.process);
    if (stopping_ || signal_) {
      if (first_failure_ == 0) first_failure_ = code;
      return absl::OkStatus();
    }
    if (is_elastic() && code != kWrongUsage && restarts_ < options_.max_restarts) {
      ++restarts_;
      ++child.restarts;
      log_warning("launch: process ", child.process, " ", how, "; starting it again (restart ",
                  restarts_, " of ", options_.max_restarts, ")");
      return start(child);
    }
    const int64_t others = std::count_if(children_.begin(), children_.end(),
                                         [](const Child& other) { return other.pid > 0; });
    if (is_elastic() && code != kWrongUsage && others > 0 && others >= options_.min_processes) {
      log_warning("launch: process ", child.process, " ", how, "; ", others, " others go on");
      return absl::OkStatus();
    }
    stop_all(code, str_cat("process ", child.process, " ", how,
                           others > 0 ? "; stopping the others" : ""));
    return absl::OkStatus();
  }

  void note_failure(int process) {
    failures_in_a_row_ = process == failed_first_ ? failures_in_a_row_ + 1 : 1;
    failed_first_ = process;
  }

  // Its machine, most likely.
  void leave_out_who_fails_again() {
    constexpr int kMost = 2;
    if (failures_in_a_row_ < kMost || std::ssize(children_) <= options_.min_processes) return;
    log_warning("launch: process ", failed_first_, " has failed ", failures_in_a_row_,
                " times in a row: going on without it");
    children_.erase(children_.begin() + failed_first_);
    for (size_t i = 0; i < children_.size(); ++i) children_[i].process = static_cast<int>(i);
    failed_first_ = -1;
    failures_in_a_row_ = 0;
  }

  void stop_all(int code, const std::string& why) {
    log_error("launch: ", why);
    first_failure_ = code;
    stopping_ = environment_.clock.elapsed();
    signal_all(SIGTERM);
  }

  void pass_signal() {
    const int number = environment_.signal();
    if (number == 0 || signal_) return;
    signal_ = number;
    log_info("launch: passing signal ", number, " on; a second one ends all at once");
    signal_all(number);
  }

  void signal_all(int number) {
    for (const Child& child : children_) {
      if (child.pid > 0) kill(-child.pid, number);
    }
  }

  const LaunchOptions& options_;
  const LaunchEnvironment& environment_;
  Keeper keeper_;
  std::unique_ptr<Server> server_;
  int port_ = 0;
  std::vector<Child> children_;
  int first_failure_ = 0;
  std::optional<absl::Duration> stopping_;  // since when, after a failure
  int signal_ = 0;
  bool started_all_ = true;
  int64_t restarts_ = 0;  // of single processes
  const int processes_;   // that there were in the beginning
  int failed_first_ = -1;
  int failures_in_a_row_ = 0;
};

}  // namespace

Result<int> launch(const LaunchOptions& options, const LaunchEnvironment& environment) {
  if (options.command.empty()) return invalid_argument("no command was given");
  return Launch(options, environment).run();
}

}  // namespace tessera::coord
