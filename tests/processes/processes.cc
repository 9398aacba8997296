#include "tests/processes/processes.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tessera/base/filesystem.h"
#include "tessera/base/log.h"
#include "tessera/base/strings.h"
#include "tessera/coord/server.h"

extern char** environ;

namespace tessera::process_testing {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What the child's main() reads; see main.cc.
std::vector<std::string> child_environment(const std::string& body, const RunOptions& options,
                                           int process, int port) {
  std::map<std::string, std::string> added = options.environment;
  const int devices = options.devices_of.empty() ? options.devices : options.devices_of.at(process);
  added["TESSERA_PROCESS_BODY"] = body;
  added["TESSERA_PROCESS_DEVICES"] = str_cat(devices);
  added["TESSERA_COORDINATOR_ADDRESS"] = str_cat("127.0.0.1:", port);
  added["TESSERA_NUM_PROCESSES"] = str_cat(options.processes);
  added["TESSERA_PROCESS_ID"] = str_cat(process);
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (!added.contains(text.substr(0, text.find('=')))) result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(str_cat(name, "=", value));
  return result;
}

pid_t spawn(const std::vector<std::string>& environment, const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::vector<char*> variables;
  for (const std::string& variable : environment)
    variables.push_back(const_cast<char*>(variable.c_str()));
  variables.push_back(nullptr);
  char name[] = "process";
  char* arguments[] = {name, nullptr};
  pid_t pid = -1;
  CHECK(posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments, variables.data()) == 0);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

}  // namespace

struct Processes::State {
  struct Child {
    pid_t pid = -1;
    Ended ended;
    std::string file;
  };

  std::string body;
  RunOptions options;
  std::string folder;
  PosixFileSystem files;
  RealClock clock;
  std::unique_ptr<coord::Server> server;
  std::vector<Child> children;
  SteadyClock::time_point end;

  void start(int process) {
    Child& child = children.at(process);
    child.pid = spawn(child_environment(body, options, process, server->port()), child.file);
  }
  // Notes the end of one, if it has ended.
  bool poll(Child& child) {
    if (child.pid < 0) return true;
    int status = 0;
    if (waitpid(child.pid, &status, WNOHANG) != child.pid) return false;
    child.pid = -1;
    child.ended.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
  }
  void kill_all() {
    for (Child& child : children) {
      if (child.pid < 0) continue;
      ::kill(child.pid, SIGKILL);
      int status = 0;
      waitpid(child.pid, &status, 0);
      child.pid = -1;
    }
  }
};

Processes::Processes(const std::string& body, const RunOptions& options)
    : state_(std::make_unique<State>()) {
  state_->body = body;
  state_->options = options;
  state_->folder = (std::filesystem::temp_directory_path() / "processes-XXXXXX").string();
  CHECK(mkdtemp(state_->folder.data()) != nullptr);
  auto server = coord::Server::start({.processes = options.processes,
                                      .recoverable = options.recoverable,
                                      .heartbeat_timeout = options.heartbeat_timeout},
                                     state_->files, state_->clock);
  CHECK(server.ok());
  state_->server = *std::move(server);
  state_->end = SteadyClock::now() + absl::ToChronoMilliseconds(options.longest);
  for (int i = 0; i < options.processes; ++i) {
    state_->children.push_back({.file = str_cat(state_->folder, "/", i)});
    state_->start(i);
  }
}

Processes::~Processes() {
  state_->kill_all();
  state_->server.reset();
  std::filesystem::remove_all(state_->folder);
}

void Processes::signal(int process, int signal) {
  const pid_t pid = state_->children.at(process).pid;
  CHECK(pid > 0);  // kill(-1) would reach every process of the machine
  ::kill(pid, signal);
}

std::string Processes::output(int process) const {
  const auto text = state_->files.read_file(state_->children.at(process).file);
  return text.ok() ? *text : "";
}

bool Processes::says(int process, const std::string& text, int times) {
  while (true) {
    const bool ended = state_->poll(state_->children.at(process));
    const std::string all = output(process);
    int count = 0;
    for (size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at) ++count;
    if (count >= times) return true;
    if (ended || SteadyClock::now() > state_->end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Processes::start_again(int process) {
  CHECK(state_->children.at(process).pid < 0);
  state_->start(process);
}

Ended Processes::wait(int process) {
  State::Child& child = state_->children.at(process);
  while (!state_->poll(child) && SteadyClock::now() < state_->end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (child.pid > 0) {
    ::kill(child.pid, SIGKILL);
    int status = 0;
    waitpid(child.pid, &status, 0);
    child.pid = -1;
    child.ended.exit_code = 124;
  }
  child.ended.output = output(process);
  return child.ended;
}

std::vector<Ended> Processes::wait() {
  std::vector<Ended> all;
  for (size_t i = 0; i < state_->children.size(); ++i) all.push_back(wait(static_cast<int>(i)));
  return all;
}

std::vector<Ended> run_processes(const std::string& body, const RunOptions& options) {
  return Processes(body, options).wait();
}

}  // namespace tessera::process_testing
